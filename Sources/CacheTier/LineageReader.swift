internal import Entitlements
internal import Redis

/// The names under which a lineage is stored, made once.
struct StoredLineageKeys: Sendable {
    let id: LineageID
    let locator: String
    let field: String

    init(_ id: LineageID) {
        self.id = id
        locator = StorageLayout.locator(of: id)
        field = StorageLayout.field(of: id)
    }

    func path(_ holder: Holder) -> String { holder.path(id.app, id.environment) }

    func history(_ holder: Holder) -> String { StorageLayout.history(of: id, holder: holder, at: path(holder)) }
}

/// Reads what the store has of one lineage.
struct LineageReader: Sendable {
    let link: StoreLink
    let keys: StoredLineageKeys

    func view() async throws(StoreError) -> LineageView {
        var view = LineageView(keys.id, try await locator())
        for holder in Set(view.locator.holders).union(view.locator.copies.keys) {
            view.take(try await copy(of: holder), of: holder)
        }
        if let news = view.locator.news {
            do {
                let accepted = try LineageRecord(decoding: news, lineage: keys.id)
                view.accepted = accepted
                view.record.merge(accepted)
            } catch {
                throw .unreadable(
                    key: "\(keys.locator) news", reason: "\(error)", isNewer: error.code == .unknownVersion)
            }
        }
        return view
    }

    func locator() async throws(StoreError) -> LineageLocator {
        let fields = try await link.send("HGETALL", keys.locator).array ?? []
        var locator = LineageLocator()
        for pair in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let name = fields[pair].string, let value = fields[pair + 1].string else { continue }
            switch name {
            case "holder": locator.holders = value.split(separator: " ").compactMap { Holder(id: String($0)) }
            case "n": locator.number = UInt64(value) ?? 0
            case "news": locator.news = fields[pair + 1].bytes
            default:
                guard name.hasPrefix("copy:"), let holder = Holder(id: String(name.dropFirst(5))) else { continue }
                locator.copies[holder] = UInt64(value) ?? 0
            }
        }
        return locator
    }

    func copy(of holder: Holder) async throws(StoreError) -> HolderCopy {
        let key = StorageLayout.key(keys.path(holder))
        let reply = try await link.send("HMGET", key, ["rev", .text(keys.field)])
        guard let values = reply.array, values.count == 2 else {
            throw .redis(RedisError(.unexpectedReply, "HMGET \(key)"))
        }
        let revision = values[0].string ?? "0"
        guard let stored = values[1].bytes else {
            return HolderCopy(seen: "absent \(revision)", revision: UInt64(revision) ?? 0, record: nil)
        }
        let found = try StoredLineage.decode(stored, lineage: keys.id, key: "\(key) \(keys.field)")
        return HolderCopy(seen: "\(found.revision)", revision: UInt64(revision) ?? 0, record: found.record)
    }

    /// So much of the end of a holder's history that it shows where the history stands.
    func lastEntries(of holder: Holder) async throws(StoreError) -> StoredHistory {
        let reply = try await link.send("LRANGE", keys.history(holder), ["-4", "-1"])
        var history = StoredHistory()
        history.add((reply.array ?? []).compactMap(\.bytes))
        // All of them may be about transfers.
        if HistoryMark(of: history.entries) == nil { history = try await self.history(of: [holder]) }
        return history
    }

    /// The histories of several holders in one, the first ones first.
    func history(of holders: [Holder]) async throws(StoreError) -> StoredHistory {
        var history = StoredHistory()
        for holder in holders {
            let reply = try await link.send("LRANGE", keys.history(holder), ["0", "-1"])
            history.add((reply.array ?? []).compactMap(\.bytes))
        }
        return history
    }
}
