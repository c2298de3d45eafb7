import CacheTier
import Glibc
import SQLite
import Time

/// A process for the snapshot's tests to kill or to starve of disk.
@main
enum SnapshotProbe {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { exit(2) }
        let folder = SnapshotFolder(arguments[2])
        switch arguments[1] {
        case "write": try write(folder)
        case "fill": try fill(folder)
        case "limited":
            var limit = rlimit(rlim_cur: 600_000, rlim_max: 600_000)
            signal(SIGXFSZ, SIG_IGN)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(3) }
            try fill(folder)
        default: exit(2)
        }
    }

    /// The rows of a batch. Those of all batches up to one make up the file, so a reader can tell what must be in it.
    static func rows(ofBatch number: UInt64) -> [SnapshotRow] {
        (0..<64 as Range<UInt64>).map { place in
            let holder = (number &* 7919 &+ place &* 13) % 997
            let text = "\(number):" + String(repeating: "x", count: Int((holder &* 31 &+ number) % 1500))
            return SnapshotRow(
                path: "app:p:holder:\(holder)", revision: number,
                fields: [SnapshotRow.Field(name: "l:1", value: Array(text.utf8))])
        }
    }

    static func positions(_ number: UInt64) -> [StreamPosition] {
        var position = StreamPosition()
        position.milliseconds = number
        return [StreamPosition](repeating: position, count: 64)
    }

    /// Writes batches for ever, going on from the last that is in the file, and prints the number of each once it is
    /// written.
    private static func write(_ folder: SnapshotFolder) throws {
        let opened = try folder.open(at: Timestamp(milliseconds: 0))
        guard opened.setAside == nil else { exit(4) }
        var number = opened.file.meta.positions[0].milliseconds
        while true {
            number += 1
            let positions = positions(number)
            try opened.file.write(rows(ofBatch: number)) { $0.positions = positions }
            let line = Array("\(number)\n".utf8)
            guard Glibc.write(1, line, line.count) == line.count else { return }
        }
    }

    /// Writes until there is no room; then what is in the file must be the last batch that was taken, and once there is
    /// room it must go on.
    private static func fill(_ folder: SnapshotFolder) throws {
        let file: SnapshotFile
        do { file = try folder.open(at: Timestamp(milliseconds: 0)).file } catch {
            print("cannot be opened: \(error.isOfTheFile ? "damaged" : "no room")")
            return
        }
        var taken: UInt64 = 0
        var reason = "none"
        for number in 1...100_000 as ClosedRange<UInt64> {
            let rows = (0..<64 as Range<UInt64>).map { place in
                SnapshotRow(
                    path: "app:p:holder:\(number)-\(place)", revision: number,
                    fields: [SnapshotRow.Field(name: "l:1", value: [UInt8](repeating: 120, count: 900))])
            }
            let positions = positions(number)
            do {
                try file.write(rows) { $0.positions = positions }
                taken = number
            } catch {
                reason = "\(error.code)"
                break
            }
        }
        try file.readMeta()
        let isThere = try file.find("app:p:holder:\(taken)-63")?.row?.revision == taken
        let isNotThere = try file.find("app:p:holder:\(taken + 1)-0") == nil
        let isSame = file.meta.positions == positions(taken) && file.meta.holders == Int64(taken * 64)
        print("\(reason) taken=\(taken > 0) same=\(isThere && isNotThere && isSame)")
    }
}
