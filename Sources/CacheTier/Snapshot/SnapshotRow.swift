package import Entitlements
internal import Runtime

/// A holder as the snapshot keeps it: what Redis has in its hash, as it is stored there.
package struct SnapshotRow: Sendable, Hashable {
    package struct Field: Sendable, Hashable {
        /// `l:<otid>`.
        package let name: String
        /// `<revision>:<record>`.
        package var value: [UInt8]

        package init(name: String, value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// The holder's key without its partition.
    package let path: String
    /// 0 for a holder that the store has never heard of.
    package var revision: UInt64
    package var fields: [Field]

    /// Of the bytes in the file, and of whose they are: a row that got under another name is found out, too.
    static func checksum(path: String, revision: UInt64, bytes: [UInt8]) -> Int64 {
        let name = CRC32C.checksum(Array("\(path) \(revision) ".utf8)[...])
        return Int64(CRC32C.checksum(bytes[...], seed: name))
    }

    /// For each field its name and its value, each behind its length.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count + 8 })
        for field in fields {
            for part in [Array(field.name.utf8), field.value] {
                let count = UInt32(clamping: part.count)
                for shift in [UInt32(0), 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
                bytes += part
            }
        }
        return bytes
    }

    package init(path: String, revision: UInt64, fields: [Field]) {
        self.path = path
        self.revision = revision
        self.fields = fields
    }

    /// Nil for bytes that are not those of a row.
    init?(path: String, revision: UInt64, bytes: [UInt8]) {
        var fields: [Field] = []
        var rest = bytes[...]
        func next() -> ArraySlice<UInt8>? {
            guard rest.count >= 4 else { return nil }
            var count = 0
            for (index, byte) in rest.prefix(4).enumerated() { count |= Int(byte) << (8 * index) }
            rest = rest.dropFirst(4)
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        while !rest.isEmpty {
            guard let name = next(), let value = next() else { return nil }
            fields.append(Field(name: String(decoding: name, as: UTF8.self), value: Array(value)))
        }
        self.init(path: path, revision: revision, fields: fields)
    }

    /// Whose row it is; nil for a path that is none.
    package var owner: (holder: Holder, app: AppID, environment: StoreEnvironment)? {
        guard case .holder(let holder, let app, let environment) = StoredKey(StorageLayout.key(path)) else {
            return nil
        }
        return (holder, app, environment)
    }

    /// Its lineages, read.
    package func records() throws(StoreError) -> [LineageRecord] {
        guard let owner else { throw .unreadable(key: path, reason: "not the path of a holder", isNewer: false) }
        var records: [LineageRecord] = []
        for field in fields {
            guard
                let lineage = StorageLayout.lineageID(
                    field: field.name, app: owner.app, environment: owner.environment)
            else { continue }
            records.append(
                try StoredLineage.decode(field.value, lineage: lineage, key: "\(path) \(field.name)").record)
        }
        return records
    }

    /// The same with what a row of a store that is gone knows besides. A record that cannot be read takes nothing and
    /// gives nothing: the one that is there stays.
    func joined(with former: SnapshotRow) -> SnapshotRow {
        var joined = self
        guard let owner else { return self }
        for field in former.fields {
            guard let index = joined.fields.firstIndex(where: { $0.name == field.name }) else {
                joined.fields.append(field)
                continue
            }
            guard
                let lineage = StorageLayout.lineageID(
                    field: field.name, app: owner.app, environment: owner.environment),
                let mine = try? StoredLineage.decode(joined.fields[index].value, lineage: lineage, key: path),
                let theirs = try? StoredLineage.decode(field.value, lineage: lineage, key: path)
            else { continue }
            var record = mine.record
            guard record.merge(theirs.record) else { continue }
            joined.fields[index].value = Array("\(mine.revision):".utf8) + record.encoded()
        }
        return joined
    }
}
