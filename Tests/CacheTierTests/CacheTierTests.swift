// The tests begin here.
