internal import Entitlements

/// A lineage as a field of its holder's hash: `<revision>:<record>`.
enum StoredLineage {
    static func decode(
        _ bytes: [UInt8], lineage: LineageID, key: @autoclosure () -> String
    ) throws(StoreError) -> (revision: UInt64, record: LineageRecord) {
        let digits = bytes.prefix { $0 != UInt8(ascii: ":") }
        guard let revision = UInt64(String(decoding: digits, as: UTF8.self)), digits.count < bytes.count else {
            throw .unreadable(key: key(), reason: "no revision", isNewer: false)
        }
        do {
            return (revision, try LineageRecord(decoding: Array(bytes[(digits.count + 1)...]), lineage: lineage))
        } catch {
            throw .unreadable(key: key(), reason: "\(error)", isNewer: error.code == .unknownVersion)
        }
    }
}
