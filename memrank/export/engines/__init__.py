"""The little of each engine that an export uses, by its documentation: what an exported formula comes to there."""
