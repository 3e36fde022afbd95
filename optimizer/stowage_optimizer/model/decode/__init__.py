"""From the contract's messages to the model, with every issue reported at once."""
