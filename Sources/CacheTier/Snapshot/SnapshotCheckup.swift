internal import SQLite

/// A snapshot gone through from beginning to end: every row, and the structure of the file.
package struct SnapshotCheckup: Sendable, Hashable {
    package var rows: Int64 = 0
    package var customers: Int64 = 0
    package var unclaimed: Int64 = 0
    package var lineages: Int64 = 0
    /// Rows that are not what was written.
    package var damagedRows: Int64 = 0
    /// Rows with a record that this version cannot read.
    package var unreadableRows: Int64 = 0
    /// What SQLite finds wrong with the file.
    package var structure: [String] = []
    /// Whether it has as many rows as it says.
    package var hasAllRows = true

    package var isSound: Bool { damagedRows == 0 && unreadableRows == 0 && structure.isEmpty && hasAllRows }

    package init() {}

    /// Goes through `file`, which others may be writing; `progress` is told the rows so far.
    package init(_ file: SnapshotFile, progress: (Int64) -> Void = { _ in }) throws(SnapshotFailure) {
        let counted = file.meta.holders
        var last = ""
        while true {
            let page: [SnapshotFile.Found]
            do { page = try file.rows(after: last, limit: 1000) } catch {
                guard error.isDamage else { throw .sqlite(error) }
                structure.append(error.message)
                break
            }
            // In a damaged file what comes next need not be behind what came before.
            guard let next = page.last?.path, next > last else { break }
            last = next
            for found in page { take(found) }
            progress(rows)
        }
        do { structure += try file.structuralDamage() } catch {
            guard error.isDamage else { throw .sqlite(error) }
            structure.append(error.message)
        }
        try file.readMeta()
        // While it is written its number may move.
        hasAllRows = rows == counted || rows == file.meta.holders || counted != file.meta.holders
    }

    private mutating func take(_ found: SnapshotFile.Found) {
        rows += 1
        guard let row = found.row else {
            damagedRows += 1
            return
        }
        switch row.owner?.holder {
        case .customer: customers += 1
        case .unclaimed: unclaimed += 1
        case nil:
            damagedRows += 1
            return
        }
        do { lineages += Int64(try row.records().count) } catch { unreadableRows += 1 }
    }
}
