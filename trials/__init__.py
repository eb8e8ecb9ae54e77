"""What measures the software itself: same bytes, resumed builds, drift, planted faults, newest versions, times."""
