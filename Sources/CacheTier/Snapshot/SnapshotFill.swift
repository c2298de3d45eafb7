internal import Redis
internal import Runtime

/// Filling a snapshot that is not complete, beside following the feed.
enum SnapshotFill {
    case none
    /// Over which connection: another server walks in another order.
    case scanning(KeyScan, connection: Int)
    /// Asks of rows that no scan came to whether the store has them, behind this path.
    case sweeping(after: String)

    var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

extension SnapshotFollower {
    func beginFill(
        _ place: inout Place, since reason: String, _ change: @Sendable (inout SnapshotMeta) -> Void = { _ in }
    ) async throws(Failure) {
        let wasComplete = state.now.meta?.isComplete == true
        try await write([]) { meta in
            change(&meta)
            meta.unsweptHeard = meta.isComplete || meta.unsweptHeard == nil ? meta.heard : meta.unsweptHeard
            meta.isComplete = false
            meta.sweep &+= 1
        }
        state.update { if wasComplete || $0.unsweptHeard == nil { $0.unsweptHeard = $0.heard } }
        place.fill = .scanning(newScan, connection: redis.connections)
        metrics.fills.increment()
        log.info("the snapshot is filled from the store", ["reason": .init(reason)])
    }

    var newScan: KeyScan { KeyScan(redis: redis, matching: StorageLayout.anyHolderPattern, count: 1000) }

    /// Goes on with the fill that is under way, by one page; false when there is none.
    func fill(_ place: inout Place) async throws(Failure) -> Bool {
        guard let meta = state.now.meta, let store = meta.store else { return false }
        switch place.fill {
        case .none: return false
        case .scanning(var scan, let connection):
            if redis.connections != connection {
                place.fill = .scanning(newScan, connection: redis.connections)
                return true
            }
            let keys: [String]?
            do { keys = try await scan.next() } catch { throw .store(.redis(error)) }
            guard let paths = keys?.compactMap({ StorageLayout.holderPath(ofKey: $0) }) else {
                place.fill = .sweeping(after: "")
                return true
            }
            for start in stride(from: 0, to: paths.count, by: Self.batch) {
                let some = Array(paths[start..<min(start + Self.batch, paths.count)])
                try await write(try await HolderRows(redis).read(some, of: store).compactMap(\.self)) { _ in }
            }
            place.fill = .scanning(scan, connection: connection)
        case .sweeping(let path):
            let (paths, last): ([String], String?)
            do { (paths, last) = try await writer.unswept(after: path, limit: 2000) } catch { throw .snapshot(error) }
            guard let last else {
                try await write([]) { meta in
                    meta.isComplete = true
                    meta.unsweptHeard = nil
                }
                state.update { $0.unsweptHeard = nil }
                place.fill = .none
                log.info("the snapshot is complete", ["holders": .init(state.now.meta?.holders ?? 0)])
                return true
            }
            try await sweep(paths, of: store, keepsAll: meta.former != nil)
            place.fill = .sweeping(after: last)
        }
        return true
    }

    /// Rows that a scan did not come to: those of holders that came into the store meanwhile are read, and those of
    /// holders that it does not have go. It never forgets a holder by itself, so these were removed by somebody.
    private func sweep(_ paths: [String], of store: String, keepsAll: Bool) async throws(Failure) {
        for start in stride(from: 0, to: paths.count, by: Self.batch) {
            let some = Array(paths[start..<min(start + Self.batch, paths.count)])
            let rows = try await HolderRows(redis).read(some, of: store)
            try await write(rows.compactMap(\.self)) { _ in }
            let gone = zip(some, rows).filter { $0.1 == nil }.map(\.0)
            guard !gone.isEmpty, !keepsAll else { continue }
            log.warning("holders that the store no longer has are forgotten", ["holders": .init(gone.count)])
            do {
                let meta = try await writer.remove(gone)
                wrote(meta)
            } catch { throw .snapshot(error) }
        }
    }
}
