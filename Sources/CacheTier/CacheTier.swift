// The part begins here.
