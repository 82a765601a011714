"""The command line: arguments to calls. Answers go to stdout; notes, progress and faults to stderr."""
