import CacheTier
import Entitlements
import Glibc
import JSON
import Runtime
import Time

/// `holdfast snapshot`: every customer's view on a gateway's disk.
enum SnapshotCommand {
    static let summary = "shows, examines, copies or gives back the snapshot on a gateway's disk"
    static let help = """
        usage: holdfast snapshot info [--file FILE] [--json]
               holdfast snapshot verify [--file FILE] [--json]
               holdfast snapshot export TO [--lines] [--file FILE]
               holdfast snapshot restore [--file FILE] [--rate N] [--json]

        A gateway keeps every customer's view in snapshot.db, in the folder snapshot.folder: what it answers from while
        Redis is away, and what a Redis that lost its data is filled from. All of these may run while the gateway does.

        info says what is in the file and as of when. verify goes through all of it: every row's checksum, every record,
        the structure of the file.

        export writes a copy to the new file TO, which is a snapshot itself; with --lines a line of JSON for each customer,
        - being standard output. Only its owner can read it. Rows that are damaged or missing are counted on standard
        error, and the exit code is 1 then.

        restore gives what the snapshot has to Redis, by merging: what Redis knows stays, and is newer where it is. A
        gateway does so by itself when Redis has lost its data (snapshot.seed); whoever does it, one at a time, goes on
        where another stopped. Published product maps come back, too. What is too new for the snapshot is in the ledger:
        see holdfast replay --apply.

          --file FILE      the snapshot; snapshot.db in the settings' snapshot.folder if not given
          --lines          JSON lines instead of a copy
          --rate N         subscriptions a second, default snapshot.seedRate
          --json           answer as JSON
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 fine, 1 the file is damaged or not there, or not all of it could be given back, 2 usage, 3 Redis is
        unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["file", "rate", "settings"], flags: ["json", "lines"])
        guard let verb = arguments.operands.first else { throw UsageError("say info, verify, export or restore") }
        let operands = Array(arguments.operands.dropFirst())
        guard operands.count == (verb == "export" ? 1 : 0) else {
            throw UsageError(verb == "export" ? "export takes one file to write to" : "\(verb) takes no operands")
        }
        do {
            try refuseWhatIsNoFile(try path(arguments))
            switch verb {
            case "info": return try info(try path(arguments), asJSON: arguments.has("json"))
            case "verify": return try verify(try path(arguments), asJSON: arguments.has("json"))
            case "export": return try export(try path(arguments), to: operands[0], asLines: arguments.has("lines"))
            case "restore": return try await SnapshotRestoring.run(try path(arguments), arguments)
            default: throw UsageError("snapshot knows info, verify, export and restore, not \(verb)")
            }
        } catch let failure as SnapshotFailure {
            Console.error("\(try path(arguments)): \(failure)")
            return 1
        }
    }

    /// Opening a named pipe would wait for somebody to write to it. What is not there is told of where it is opened.
    private static func refuseWhatIsNoFile(_ path: String) throws(SnapshotFailure) {
        guard let facts = try? FileFacts(of: path), let kind = facts.otherKind else { return }
        throw .foreign("it is \(kind), no regular file; name one with --file")
    }

    static func path(_ arguments: CommandArguments) throws -> String {
        if let file = arguments.value("file") { return file }
        let settings = try HoldfastSettings.load(path: arguments.value("settings"))
        return "\(settings.snapshot.folder)/\(SnapshotFolder.fileName)"
    }

    // MARK: Looking

    private static func info(_ path: String, asJSON: Bool) throws -> Int32 {
        let file = try SnapshotFile(path, .readOnly)
        let (meta, bytes) = (file.meta, try size(of: file))
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("file", path)
            json.member("format", SnapshotFile.formatVersion)
            json.member("bytes", bytes)
            json.member("holders", meta.holders)
            json.member("store", meta.store)
            json.member("heard", meta.heard?.rfc3339)
            json.member("complete", meta.isComplete)
            json.member("owes", meta.former?.store)
            json.endObject()
            print(json.text)
            return 0
        }
        print("\(path): \(meta.holders) customers and unclaimed purchases, \(Size.text(UInt64(max(0, bytes))))")
        print("of the store \(meta.store ?? "of nobody yet"), heard last \(meta.heard?.rfc3339 ?? "never")")
        print(
            meta.isComplete
                ? "complete: it lacks nobody"
                : "not complete: it is being filled, and some may be missing or older")
        if let former = meta.former {
            print("the store lost its data; what it had as \(former.store) has not been given back to it yet")
        }
        return 0
    }

    private static func size(of file: SnapshotFile) throws(SnapshotFailure) -> Int64 {
        do { return try file.bytes } catch { throw .sqlite(error) }
    }

    private static func verify(_ path: String, asJSON: Bool) throws -> Int32 {
        let file = try SnapshotFile(path, .readOnly)
        var line = ProgressLine("rows read")
        let total = Double(max(1, file.meta.holders))
        let checkup = try SnapshotCheckup(file) { line.show(Double($0) / total) }
        line.clear()
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("file", path)
            json.member("sound", checkup.isSound)
            json.member("rows", checkup.rows)
            json.member("customers", checkup.customers)
            json.member("unclaimed", checkup.unclaimed)
            json.member("lineages", checkup.lineages)
            json.member("damagedRows", checkup.damagedRows)
            json.member("unreadableRows", checkup.unreadableRows)
            json.array("structure", checkup.structure) { json, finding in json.string(finding) }
            json.member("hasAllRows", checkup.hasAllRows)
            json.endObject()
            print(json.text)
        } else {
            print(
                "\(checkup.customers) customers and \(checkup.unclaimed) unclaimed purchases with \(checkup.lineages) "
                    + "subscriptions and purchases")
            if checkup.damagedRows > 0 { print("\(checkup.damagedRows) rows are not what was written") }
            if checkup.unreadableRows > 0 { print("\(checkup.unreadableRows) rows cannot be read by this version") }
            for finding in checkup.structure { print(Console.printable(finding)) }
            if !checkup.hasAllRows { print("it says that it has \(file.meta.holders) rows, and has \(checkup.rows)") }
            print(
                checkup.isSound
                    ? "sound"
                    : "damaged: stop the gateway and move the file away; it fills another one from Redis")
        }
        return checkup.isSound ? 0 : 1
    }

    // MARK: Copying

    private static func export(_ path: String, to target: String, asLines: Bool) throws -> Int32 {
        guard !target.isEmpty else { throw UsageError("the file to write to has no name; name one, such as copy.db") }
        if target == "-", !asLines { throw UsageError("a copy is a file; --lines can go to standard output") }
        let file = try SnapshotFile(path, .readOnly)
        let output = target == "-" ? STDOUT_FILENO : try create(target)
        defer { if target != "-" { close(output) } }
        guard asLines else {
            // SQLite fills a file that is empty, and leaves its mode as it is.
            do { try file.copy(to: target) } catch {
                unlink(target)
                Console.error("\(target) could not be written: \(error)")
                return 1
            }
            return 0
        }
        do { return try write(file, to: output, named: target) } catch let error as SystemError {
            Console.error("\(error)")
            return 1
        }
    }

    /// A new file that only its owner can read.
    private static func create(_ target: String) throws -> Int32 {
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output < 0 else { return output }
        let failure = SystemError(call: "open \(target)")
        if failure.code == EEXIST { throw UsageError("\(target) is there already; name another file") }
        throw UsageError("\(failure); name a file in a folder that is there and can be written to")
    }

    /// A line a holder; 1 when the file has not all of those that it says it has.
    private static func write(_ file: SnapshotFile, to output: Int32, named target: String) throws -> Int32 {
        let counted = file.meta.holders
        var (last, found, written) = ("", Int64(0), Int64(0))
        while true {
            let page: [SnapshotFile.Found]
            do throws(SnapshotFailure) { page = try file.page(after: last, limit: 500) } catch {
                // What is behind the damage is missing, and is counted as that.
                guard error.isOfTheFile else { throw error }
                Console.error("\(file.path): \(error)")
                break
            }
            guard let next = page.last?.path, next > last else { break }
            last = next
            var lines: [UInt8] = []
            for row in page {
                found += 1
                guard let line = row.row.flatMap(line) else { continue }
                written += 1
                lines += line
            }
            var rest = lines[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
                guard count > 0 else { throw SystemError(call: "write \(target)") }
                rest = rest.dropFirst(count)
            }
        }
        try file.readMeta()
        // While a gateway writes it its number may move, and then says nothing about the rows that were met.
        let all = counted == file.meta.holders ? max(counted, found) : found
        if written < all { Console.error("\(all - written) of \(all) rows are missing or damaged, and were left out") }
        return written < all ? 1 : 0
    }

    /// A holder as a line of JSON; the records as they are stored.
    private static func line(_ row: SnapshotRow) -> [UInt8]? {
        guard let owner = row.owner else { return nil }
        var json = JSONWriter()
        json.beginObject()
        json.member("app", owner.app.rawValue)
        json.member("environment", owner.environment.rawValue)
        json.member("customer", owner.holder.customer)
        json.member("revision", row.revision)
        json.object("lineages") { json in
            for field in row.fields {
                // `l:<otid>` and `<revision>:<record>`.
                json.key(String(field.name.dropFirst(2)))
                let record = Array(field.value.drop { $0 != UInt8(ascii: ":") }.dropFirst())
                if let value = try? JSONValue.parse(record) { json.value(value) } else { json.null() }
            }
        }
        json.endObject()
        return json.bytes + [UInt8(ascii: "\n")]
    }
}
