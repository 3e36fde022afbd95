"""The paper's tables, with our rows beside the published ones."""
