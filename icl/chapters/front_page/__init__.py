"""The front page's transformer: the law it was trained on, its training, and what its checkpoint says of it."""
