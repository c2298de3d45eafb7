import Gateway
import Runtime

/// Whether what the broker cannot take can be kept on this machine's disk.
struct SpoolCheck: Check {
    let name = "spool"
    let isRemote = false
    let settings: SpoolSettings

    func examine() async -> Finding {
        let folder = settings.folder
        let facts = try? FileFacts(of: folder)
        if let facts, !facts.isFolder {
            return .wrong("\(folder) is not a folder", "Move it away, or name another in spool.folder.")
        }
        // The gateway makes what is missing.
        guard let existing = Self.nearestExisting(folder) else {
            return .wrong("\(folder) cannot be reached", "Name another folder in spool.folder.")
        }
        guard FileFacts.isWritable(existing) else {
            return .wrong(
                "we may not write to \(existing)",
                "chown it to the user that runs the gateway; and run the doctor as that user.")
        }
        let disk: FileSystemFacts
        do { disk = try FileSystemFacts(of: existing) } catch { return .wrong("\(error)", "Look at the disk.") }
        if let kind = disk.unsafeKind {
            return .wrong(
                "\(existing) lies on \(kind), which does not keep what was acknowledged",
                "Put spool.folder on a local disk.")
        }
        let (free, limit) = (Size.text(disk.available), Size.text(UInt64(settings.maxBytes)))
        if disk.available < UInt64(settings.segmentBytes) {
            return .wrong("\(free) left on the disk of \(folder): nothing can be spooled", "Make room on that disk.")
        }
        if disk.available < UInt64(settings.maxBytes) {
            return .warning(
                "\(free) left on the disk of \(folder), less than spool.maxBytes (\(limit))",
                "Make room, or set spool.maxBytes to what there is.")
        }
        return .fine("\(folder)\(facts == nil ? ", to be made" : ""); \(free) free, \(limit) wanted at most")
    }

    static func nearestExisting(_ folder: String) -> String? {
        var path = folder
        // Each turn takes a part away.
        while (try? FileFacts(of: path)) == nil {
            guard path != "/", path != "." else { return nil }
            guard let slash = path.lastIndex(of: "/") else { return "." }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        return path
    }
}

/// Bytes for people.
enum Size {
    static func text(_ bytes: UInt64) -> String {
        let units: [(String, UInt64)] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        guard let (name, size) = units.first(where: { bytes >= $0.1 }) else { return "\(bytes) bytes" }
        let tenths = (bytes / (size / 1024)) &* 10 / 1024
        return tenths % 10 == 0 || tenths >= 1000 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
    }
}
