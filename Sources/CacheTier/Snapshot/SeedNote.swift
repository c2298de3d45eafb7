internal import Redis
internal import Time

/// What a store is told of having got back, for each store before it (`StorageLayout.seedsKey`).
///
/// Several gateways have a snapshot each of the store that is gone, and each may have followed it a moment longer than the
/// others. So what was given back is noted by the positions in the feed that it reached; who has more gives more.
struct SeedNote: Sendable, Hashable {
    var positions: [StreamPosition]
    /// Whether a snapshot was given back that lacked no holder.
    var isComplete: Bool
    var finishedAt: Timestamp

    /// Whether giving back a snapshot of these positions would add nothing.
    func covers(_ positions: [StreamPosition]) -> Bool { zip(self.positions, positions).allSatisfy { $0 >= $1 } }

    mutating func add(_ other: SeedNote) {
        if isComplete == other.isComplete {
            positions = zip(positions, other.positions).map { max($0, $1) }
        } else if other.isComplete {
            // How far one reached that lacked holders says nothing of the holders that it lacked.
            positions = other.positions
        }
        isComplete = isComplete || other.isComplete
        finishedAt = max(finishedAt, other.finishedAt)
    }

    // MARK: In Redis

    static func doneField(_ store: String) -> String { "done:\(store)" }
    static func cursorField(_ store: String) -> String { "at:\(store)" }

    var text: String { "\(finishedAt.milliseconds) \(isComplete ? 1 : 0) \(SnapshotMeta.text(positions))" }

    init(positions: [StreamPosition], isComplete: Bool, finishedAt: Timestamp) {
        self.positions = positions
        self.isComplete = isComplete
        self.finishedAt = finishedAt
    }

    /// Nil for what is none.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let time = Int64(parts[0]), let positions = SnapshotMeta.positions(String(parts[2]))
        else { return nil }
        self.init(positions: positions, isComplete: parts[1] == "1", finishedAt: Timestamp(milliseconds: time))
    }

    static func read(
        of store: String, from redis: any RedisCommands
    ) async throws(StoreError) -> SeedNote? {
        try await StoreLink(redis: redis).send("HGET", StorageLayout.seedsKey, [.text(doneField(store))]).string
            .flatMap { SeedNote($0) }
    }
}

/// How far giving back is, as it stands in Redis beside what was given: whoever was interrupted goes on there. It is of use
/// only to the one who wrote it, for what it gives: another's snapshot may have rows before it that this one lacked.
struct SeedCursor: Sendable {
    /// Who writes it, and what it gives back.
    private let origin: String
    /// Whether nothing was left out so far.
    var isWhole = true
    /// The path of the last row that was given back.
    var path = ""

    init(owner: String, former: SnapshotMeta.Former) {
        origin = "\(owner) \(former.losses) \(SnapshotMeta.text(former.positions))"
    }

    var text: String { "\(origin)\n\(isWhole ? 1 : 0)\n\(path)" }

    /// Takes over what was written; another's, and what is none, changes nothing.
    mutating func resume(_ text: String) {
        let parts = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == origin, ["0", "1"].contains(parts[1]) else { return }
        isWhole = parts[1] == "1"
        path = String(parts[2])
    }
}
