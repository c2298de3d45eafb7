internal import Entitlements

/// Where things are in Redis.
///
/// | key | type | what |
/// |---|---|---|
/// | `hf:{p00}:probe` | string | written to see whether Redis takes writes |
/// | `hf:{p00}:layout` | string | version, partition count and identity of this store (`LayoutGuard`); in a cluster one in each partition |
/// | `hf:{p00}:seeds` | hash | how far the data of stores before this one was given back from snapshots (`SnapshotSeeder`) |
/// | `hf:{p00}:seeds:lease` | string | who gives it back now |
/// | `hf:{p00}:indexed` | string | that lineages stored before there was an index of the unclaimed are in it |
/// | `hf:{pNN}:<app>:<p or s>:holder:<holder>` | hash | `rev`, and `l:<otid>` for each lineage: `<revision>:<record>` |
/// | `hf:{pNN}:<app>:<p or s>:history:<holder>:<otid>` | list | the lineage's history, in the partition of its holder |
/// | `hf:{pNN}:<app>:<p or s>:unclaimed` | sorted set | the partition's unclaimed lineages by the time they were first seen |
/// | `hf:{pNN}:<app>:<p or s>:due:<access, ending or routine>` | sorted set | the partition's lineages by when Apple is to be asked about them next: `<holder> <otid>` (`DueWork`) |
/// | `hf:{pNN}:<app>:<p or s>:checking:<otid>` | string | who asks Apple about a lineage now |
/// | `hf:{pNN}:<app>:<p or s>:remind` | sorted set | the same members by when a customer is to be reminded of an end (`ReminderBook`) |
/// | `hf:{pNN}:<app>:<p or s>:reminded:<holder>:<otid>` | string | `<end> <lead>`, which was said last, until that end |
/// | `hf:{pNN}:<app>:<p or s>:remind:lease` | string | who reminds now |
/// | `hf:{p00}:scheduled` | hash | for each app, how far lineages that were stored before there was a schedule are entered into it (`ScheduleFilling`) |
/// | `hf:{p00}:scheduled:lease:<app>` | string | who enters them |
/// | `hf:{pNN}:<app>:<p or s>:lineage:<otid>` | hash | the lineage's locator: `holder` (under `share` all of them, a blank between), `copy:<holder>`…, `n`, `news` (what was accepted and may not be everywhere yet, as a record) |
/// | `hf:{pNN}:<app>:maps` | hash | product maps: `current`, and for each version `m:<n>` (facts), `d:<n>` (document) and `r:<n>` (its recomputation); `s`, `s:before` and `s:at`: the settings' map, while none is published, the one before, and since when |
/// | `hf:{pNN}:<app>:maps:lease` | string | who recomputes now, in the partition of the maps |
/// | `hf:{pNN}:<app>:unmapped` | hash | `<p or s>:<product>`: count, first and last time that a product no map knows was seen |
/// | `hf:{pNN}:<app>:<p or s>:refund-request:<tid>` | string | what asked first about it, for a while (`RefundRequests`) |
/// | `hf:{pNN}:<app>:<p or s>:recovery` | hash | `j:<name>` for each recovery and backfill (`RecoveryJob`); `n`, raised when an outage is entered; `began`, since when notifications are remembered; `check` and `missing`, what the last regular look at Apple's history found; `gap:<cause>`; `heard:<role>`, when one was there last |
/// | `hf:{pNN}:<app>:<p or s>:recovery:lease:<name>` | string | who is at one of them, in its partition |
/// | `hf:{pNN}:<app>:<p or s>:seen:<n>` | sorted set | UUIDs of notifications settled lately, by when; 16 of these, by the UUID |
/// | `hf:{pNN}:<app>:<p or s>:drift` | hash | what Apple answered and we did not know, by its id (`Drift`); with it, in its partition: |
/// | `…:drift:order` | sorted set | the same ids by when it was found |
/// | `…:drift:open` | sorted set | ids of what is to be examined, by when |
/// | `…:drift:counts` | hash | `<field>:<cause>`: how often that was found |
/// | `hf:{pNN}:<app>:<p or s>:arrivals` | hash | `first` and `last` time that a notification of Apple's came, and for each hour (since 1970) of five weeks in how many of its minutes (`ArrivalHours`) |
/// | `hf:{pNN}:changes` | stream | one entry a changed holder: `k` (its key after the partition) and `r` (its `rev`) |
///
/// A *holder* is a customer, or `unclaimed:<otid>` for a lineage that is nobody's yet. Everything one script touches is
/// in one partition, hence in one slot of a Redis Cluster. Names are percent-escaped, so no id can break the layout or
/// pass for an unclaimed lineage: the colon of `unclaimed:` is the only one that is not escaped.
enum StorageLayout {
    static let version = 1
    static let partitions = 64

    static let layoutKey = layoutKey(of: 0)
    static let probeKey = "hf:\(tag(0)):probe"
    static let indexedKey = "hf:\(tag(0)):indexed"

    static func layoutKey(of partition: Int) -> String { "hf:\(tag(partition)):layout" }

    static let changeStreams = (0..<partitions).map { "hf:\(tag($0)):changes" }

    static func locator(of lineage: LineageID) -> String {
        key("\(scope(lineage.app, lineage.environment)):lineage:\(escaped(lineage.originalTransactionID))")
    }

    static func productMaps(of app: AppID) -> String { key("\(escaped(app.rawValue)):maps") }

    /// In the partition of the maps, so that one script can see to both.
    static func recomputeLease(of app: AppID) -> String { "\(productMaps(of: app)):lease" }

    static func unmappedProducts(of app: AppID) -> String { key("\(escaped(app.rawValue)):unmapped") }

    /// Matches the keys of all holders of an app, in both environments.
    static func holderPattern(of app: AppID) -> String { "hf:{p??}:\(escaped(app.rawValue)):?:holder:*" }

    /// The environment and holder that a key matching `holderPattern` is of; nil for another one.
    static func holder(ofKey key: String, app: AppID) -> (StoreEnvironment, Holder)? {
        for environment in StoreEnvironment.allCases {
            let prefix = "\(scope(app, environment)):holder:"
            guard let brace = key.firstIndex(of: "}") else { return nil }
            let path = key[brace...].dropFirst(2)
            if path.hasPrefix(prefix), let holder = Holder(id: String(path.dropFirst(prefix.count))) {
                return (environment, holder)
            }
        }
        return nil
    }

    /// Matches the keys of all holders of all apps, and some that are none.
    static let anyHolderPattern = "hf:{p??}:*:?:holder:*"

    /// The path of the holder whose key this is; nil for another key.
    static func holderPath(ofKey key: String) -> String? {
        guard case .holder = StoredKey(key) else { return nil }
        return key.firstIndex(of: "}").map { String(key[$0...].dropFirst(2)) }
    }

    /// Which former stores' data was given back to this one, and how far (`SnapshotSeeder`); with its lease beside it.
    static let seedsKey = "hf:\(tag(0)):seeds"
    static let seedsLease = "hf:\(tag(0)):seeds:lease"

    static func refundRequest(_ transactionID: String, _ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):refund-request:\(escaped(transactionID))")
    }

    static func recovery(_ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):recovery")
    }

    /// In the partition of what it is about, so that one script can see to both.
    static func recoveryLease(_ job: String, _ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(recovery(app, environment)):lease:\(escaped(job))"
    }

    static let seenSets = 16

    static func seen(_ notification: String, _ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):seen:\(partition(of: notification) % seenSets)")
    }

    static func drift(_ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):drift")
    }

    static func driftOrder(_ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(drift(app, environment)):order"
    }

    static func driftOpen(_ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(drift(app, environment)):open"
    }

    static func driftCounts(_ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(drift(app, environment)):counts"
    }

    static func arrivals(_ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):arrivals")
    }

    /// Beside the hash of the holder at `path`, so that one script can write both.
    static func history(of lineage: LineageID, holder: Holder, at path: String) -> String {
        "hf:\(tag(partition(of: path))):\(scope(lineage.app, lineage.environment)):history:\(holder.id):"
            + escaped(lineage.originalTransactionID)
    }

    static func unclaimedIndex(_ app: AppID, _ environment: StoreEnvironment, partition: Int) -> String {
        "hf:\(tag(partition)):\(scope(app, environment)):unclaimed"
    }

    static func due(_ urgency: Urgency, _ app: AppID, _ environment: StoreEnvironment, partition: Int) -> String {
        "hf:\(tag(partition)):\(scope(app, environment)):due:\(urgency.name)"
    }

    static func checkLease(of lineage: LineageID) -> String {
        key("\(scope(lineage.app, lineage.environment)):checking:\(escaped(lineage.originalTransactionID))")
    }

    static func reminders(_ app: AppID, _ environment: StoreEnvironment, partition: Int) -> String {
        "hf:\(tag(partition)):\(scope(app, environment)):remind"
    }

    static func remindLease(_ app: AppID, _ environment: StoreEnvironment) -> String {
        key("\(scope(app, environment)):remind:lease")
    }

    /// Beside the hash of the holder at `path`.
    static func reminded(_ lineage: LineageID, holder: Holder, at path: String) -> String {
        "hf:\(tag(partition(of: path))):\(scope(lineage.app, lineage.environment)):reminded:\(holder.id):"
            + escaped(lineage.originalTransactionID)
    }

    static let scheduledKey = "hf:\(tag(0)):scheduled"

    static func scheduledLease(of app: AppID) -> String { "\(scheduledKey):lease:\(escaped(app.rawValue))" }

    static func field(of lineage: LineageID) -> String { "l:\(escaped(lineage.originalTransactionID))" }

    static func lineageID(field: String, app: AppID, environment: StoreEnvironment) -> LineageID? {
        guard field.hasPrefix("l:"), let id = unescaped(field.dropFirst(2)) else { return nil }
        return LineageID(app: app, environment: environment, originalTransactionID: id)
    }

    static func scope(_ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(escaped(app.rawValue)):\(environment == .production ? "p" : "s")"
    }

    static func key(_ path: String) -> String { "hf:\(tag(partition(of: path))):\(path)" }

    static func changeStream(ofPath path: String) -> String { changeStreams[partition(of: path)] }

    /// FNV-1a (64 bits, folded) of the path, modulo 64. It must never change: everything would be looked for elsewhere.
    static func partition(of path: String) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return Int((hash ^ (hash >> 32)) % UInt64(partitions))
    }

    private static func tag(_ partition: Int) -> String { "{p\(partition < 10 ? "0" : "")\(partition)}" }

    /// Everything but RFC 3986's unreserved characters becomes `%XX`.
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func unescaped(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexDigits.firstIndex(of:)),
                let low = rest.popFirst().flatMap(hexDigits.firstIndex(of:))
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
