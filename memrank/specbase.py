"""What every section of a spec is: a frozen pydantic model that takes no unknown key."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One mapping of the YAML file."""

    # Not `use_attribute_docstrings`: reading them costs every start 50 ms. `specdocs` reads them for the schema.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)
