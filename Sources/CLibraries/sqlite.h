// SQLite: the embedded database of the snapshot and of the embedded store.
#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast macro, which Swift does not import: the value is copied before the call returns.
static inline int holdfast_sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, int bytes) {
    return sqlite3_bind_text(statement, place, text, bytes, SQLITE_TRANSIENT);
}

static inline int holdfast_sqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}
