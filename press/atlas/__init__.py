"""The atlas: every theorem's claims over hundreds of problems, and what is said of them."""
