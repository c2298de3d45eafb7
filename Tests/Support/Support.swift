// Fixtures begin here.
