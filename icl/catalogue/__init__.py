"""What each chapter claims, fixed before anything is measured: one TOML file per chapter."""
