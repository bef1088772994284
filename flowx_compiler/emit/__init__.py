"""A `PlanModel` to the text of its plan module; a `Program` to the manifest. Same input, same bytes."""
