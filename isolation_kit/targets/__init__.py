"""Systems under test that ship with the kit: the reference runtime, and frameworks, one file each."""
