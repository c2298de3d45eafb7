import CacheTier
import Runtime
import Time

/// Whether this machine's gateway keeps every customer's view on its disk, and how good it is.
struct SnapshotCheck: Check {
    let name = "snapshot"
    let isRemote = false
    let settings: SnapshotSettings
    let clock: WallClock

    func examine() async -> Finding {
        guard settings.isEnabled else {
            return .warning(
                "snapshot.enabled is false: without Redis, only customers in memory are answered",
                "Set snapshot.enabled to true.")
        }
        guard let existing = SpoolCheck.nearestExisting(settings.folder), FileFacts.isWritable(existing) else {
            return .wrong(
                "we may not write to \(settings.folder)",
                "chown it to the user that runs the gateway, or name another folder in snapshot.folder.")
        }
        let path = SnapshotFolder(settings.folder).file
        guard File.size(of: path) != nil else {
            return .fine("\(path), to be made by a gateway, which fills it from Redis")
        }
        let file: SnapshotFile
        do { file = try SnapshotFile(path, .readOnly) } catch {
            return .wrong(
                "\(path): \(error)", "A gateway that starts sets it aside and fills another from Redis.",
                "If it is on another disk now, name that in snapshot.folder.")
        }
        return finding(file.meta, size: File.size(of: path) ?? 0, path)
    }

    private func finding(_ meta: SnapshotMeta, size: Int64, _ path: String) -> Finding {
        var findings: [Finding] = []
        if let former = meta.former {
            findings.append(
                .warning(
                    "Redis lost its data, and has not got back yet what the snapshot has of \(former.store)",
                    "A running gateway gives it back (snapshot.seed), or: holdfast snapshot restore"))
        }
        if !meta.isComplete {
            findings.append(
                .warning(
                    "it is not complete: customers may be missing in it",
                    "A running gateway fills it from Redis; see holdfast_snapshot_complete."))
        }
        let age = meta.heard.map { clock.now() - $0 }
        if let age, age > .seconds(300) {
            findings.append(
                .warning(
                    "it was followed last \(Int64(age / .seconds(60))) minutes ago",
                    "Start the gateway; if it runs, see holdfast_snapshot_following, its log and the disk's free room.")
            )
        }
        return .of(
            findings,
            otherwise: "\(meta.holders) customers and unclaimed purchases, \(Size.text(UInt64(max(0, size)))), "
                + "as of \(meta.heard?.rfc3339 ?? "never")")
    }
}
