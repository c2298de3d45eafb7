internal import Runtime
internal import SQLite
package import Time

/// What the snapshot knows of itself: of which store it is, and how far it has followed it.
package struct SnapshotMeta: Sendable, Hashable {
    /// A store that lost its data, and what the snapshot had of it then.
    package struct Former: Sendable, Hashable {
        package var store: String
        package var positions: [StreamPosition]
        package var isComplete: Bool
        /// How often data was lost since then without having been given back. With more than one the rows also have
        /// what came in between, of which nobody's note can tell.
        package var losses: Int

        package init(store: String, positions: [StreamPosition], isComplete: Bool, losses: Int = 1) {
            self.store = store
            self.positions = positions
            self.isComplete = isComplete
            self.losses = losses
        }

        /// In one value, as versions that do not know of losses have a checksum over the names that they know.
        fileprivate var completenessText: String { (isComplete ? "1" : "0") + (losses > 1 ? " \(losses)" : "") }

        fileprivate init(store: String, positions: [StreamPosition], completeness text: String) {
            let parts = text.split(separator: " ")
            self.init(
                store: store, positions: positions, isComplete: parts.first == "1",
                losses: parts.count > 1 ? Int(parts[1]) ?? 2 : 1)
        }
    }

    /// The identity of the store that is followed; nil before the first.
    package var store: String?
    /// Everything up to here is in the rows, but for those that a fill has not come to yet.
    package var positions = [StreamPosition](repeating: .beginning, count: StorageLayout.partitions)
    /// When the feed was heard that the positions are of.
    package var heard: Timestamp?
    /// Whether a fill has ended since the snapshot had no place: no holder of the store is missing.
    package var isComplete = false
    /// Written into each row; rows with another number have not been visited by the fill that is under way.
    package var sweep: Int64 = 1
    /// What rows with another number than `sweep` are known by.
    package var unsweptHeard: Timestamp?
    package var holders: Int64 = 0
    /// Whose rows are still among the rows; nil once all of it was given back to the store.
    package var former: Former?

    package init() {}

    /// As of when a row with this number is known.
    func heard(ofRowSwept sweep: Int64) -> Timestamp? { isComplete || sweep == self.sweep ? heard : unsweptHeard }

    // MARK: As rows of a table

    private static let names = [
        "store", "positions", "heard", "complete", "sweep", "unsweptHeard", "holders", "formerStore",
        "formerPositions", "formerComplete",
    ]

    var values: [(name: String, value: String)] {
        let completeness = former?.completenessText ?? "0"
        let values: [String] = [
            store ?? "", Self.text(positions), heard.map { "\($0.milliseconds)" } ?? "", isComplete ? "1" : "0",
            "\(sweep)", unsweptHeard.map { "\($0.milliseconds)" } ?? "", "\(holders)", former?.store ?? "",
            former.map { Self.text($0.positions) } ?? "", completeness,
        ]
        let pairs = Array(zip(Self.names, values)).map { (name: $0.0, value: $0.1) }
        return pairs + [(name: "checksum", value: Self.checksum(pairs))]
    }

    /// Nil for what is not what was written.
    init?(_ values: [String: String]) {
        let pairs = Self.names.map { (name: $0, value: values[$0] ?? "") }
        guard values["checksum"] == Self.checksum(pairs), let positions = Self.positions(values["positions"] ?? ""),
            let sweep = values["sweep"].flatMap({ Int64($0) }), let holders = values["holders"].flatMap({ Int64($0) })
        else { return nil }
        func instant(_ name: String) -> Timestamp? {
            values[name].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
        }
        store = values["store"].flatMap { $0.isEmpty ? nil : $0 }
        self.positions = positions
        heard = instant("heard")
        isComplete = values["complete"] == "1"
        self.sweep = sweep
        unsweptHeard = instant("unsweptHeard")
        self.holders = holders
        if let store = values["formerStore"], !store.isEmpty,
            let positions = Self.positions(values["formerPositions"] ?? "")
        {
            former = Former(store: store, positions: positions, completeness: values["formerComplete"] ?? "")
        }
    }

    private static func checksum(_ pairs: [(name: String, value: String)]) -> String {
        let text = pairs.map { "\($0.name)=\($0.value)\n" }.joined()
        return String(CRC32C.checksum(Array(text.utf8)[...]), radix: 16)
    }

    static func text(_ positions: [StreamPosition]) -> String { positions.map(\.description).joined(separator: " ") }

    static func positions(_ text: String) -> [StreamPosition]? {
        let positions = text.split(separator: " ").compactMap { StreamPosition(String($0)) }
        return positions.count == StorageLayout.partitions ? positions : nil
    }
}
