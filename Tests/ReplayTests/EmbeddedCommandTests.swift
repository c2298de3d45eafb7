import AppStore
import Glibc
import JSON
import TestSupport
import Testing
import Time

/// Commands at a terminal while `holdfast serve` runs without servers.
@Suite("Commands on the embedded store and queue", .timeLimit(.minutes(6))) struct EmbeddedCommandTests {
    /// `holdfast serve` in a folder of its own, up and listening.
    private struct Serving {
        let folder: TemporaryFolder
        let process: ChildProcess
        let address: String

        init() async throws {
            folder = try TemporaryFolder("embedded-commands")
            try folder.write(try Forge.authority.get().rootDER, to: "root.der")
            try folder.write(
                """
                {
                    "apps": { "demo": {
                        "bundleId": "\(Forge.identity.bundleID)", "appAppleId": \(Forge.identity.appAppleID ?? 0),
                        "products": { "pro.month": { "entitlements": ["pro"], "group": "main", "level": 1 } }
                    } },
                    "appStore": { "roots": ["\(folder.file("root.der"))"] },
                    "store": { "kind": "embedded" }, "queue": { "kind": "embedded" },
                    "embedded": { "folder": "\(folder.file("embedded"))" },
                    "spool": { "folder": "\(folder.file("spool"))" },
                    "gateway": { "http": { "address": "127.0.0.1:0" }, "operations": { "address": "127.0.0.1:0" } },
                    "consumer": { "operations": { "address": "127.0.0.1:0" } }
                }
                """, to: "holdfast.json")
            let process = try ChildProcess.holdfast(
                ["serve", "--settings", folder.file("holdfast.json")], log: folder.file("log"))
            self.process = process
            var port: Int64?
            let isUp = try await eventually {
                port =
                    process.log.split(separator: "\n").lazy.compactMap { line in
                        let entry = try? JSONValue.parse(Array(line.utf8))
                        return entry?["listener"]?.string == "http" ? entry?["port"]?.int64 : nil
                    }.first
                return port != nil
            }
            #expect(isUp, "\(process.log)")
            address = "http://127.0.0.1:\(try #require(port, "\(process.log)"))"
        }

        func post(_ body: [UInt8]) async throws -> String {
            try folder.write(body, to: "body")
            return try await Command.run(
                "/usr/bin/curl",
                [
                    "-s", "--max-time", "60", "-o", folder.file("answer"), "-w", "%{http_code}", "--data-binary",
                    "@\(folder.file("body"))", "\(address)/apple/demo/production",
                ]
            ).output
        }

        func holdfast(_ words: String...) async throws -> Command.Result {
            try await Command.run(
                try ChildProcess.product("holdfast"), words + ["--settings", folder.file("holdfast.json")])
        }
    }

    @Test func theLedgerIsReadAndComparedWhileServeRuns() async throws {
        let serving = try await Serving()
        for number in 0..<3 {
            let status = try await serving.post(
                try Forge.notification(lineage: "\(number)", token: Stage.customer(number)))
            #expect(status == "200")
        }
        var equal = try await serving.holdfast("replay")
        let areApplied = try await eventually {
            equal = try await serving.holdfast("replay")
            return equal.output.contains("3 of 3 lineages are equal, none differ.")
        }
        #expect(areApplied, "\(equal.output)")
        #expect(equal.status == 0, "\(equal.output)")
        #expect(equal.output.contains("all that ever came in"), "\(equal.output)")

        let export = serving.folder.file("export")
        #expect(try await serving.holdfast("replay", "--export", export).status == 0)
        let fromFile = try await serving.holdfast("replay", export)
        #expect(fromFile.status == 0, "\(fromFile.output)")

        let offset = try await serving.holdfast("replay", "--from", "1")
        #expect(offset.status == 2)
        #expect(offset.output.contains("the embedded ledger has no offsets"))
        #expect(await serving.process.terminate() == 0)

        // Nobody else is needed to read it.
        let later = try await serving.holdfast("replay", "--json")
        let report = try JSONValue.parse(Array(later.output.utf8))
        #expect(report["source"]?["whole"]?.bool == true)
        #expect(later.status == 0)
    }

    @Test func aStoreThatWasThrownAwayIsRebuiltFromTheLedger() async throws {
        let serving = try await Serving()
        #expect(try await serving.post(try Forge.notification(lineage: "1", token: Stage.customer(1))) == "200")
        let isApplied = try await eventually { try await serving.holdfast("replay").status == 0 }
        #expect(isApplied)
        #expect(await serving.process.terminate() == 0)
        for end in ["", "-wal", "-shm"] { unlink(serving.folder.file("embedded/store.db\(end)")) }

        let again = try ChildProcess.holdfast(
            ["serve", "--settings", serving.folder.file("holdfast.json")], log: serving.folder.file("log"))
        // Exit code 1: the new store is there, and lacks it.
        let isFounded = try await eventually { try await serving.holdfast("replay").status == 1 }
        #expect(isFounded)
        let lost = try await serving.holdfast(
            "explain", Stage.customer(1), "--entitlement", "pro", "--at", Forge.now.rfc3339)
        #expect(lost.status == 1, "\(lost.output)")
        let applied = try await serving.holdfast("replay", "--apply", "--yes")
        #expect(applied.status == 0, "\(applied.output)")
        #expect(try await serving.holdfast("replay").status == 0)
        let has = try await serving.holdfast(
            "explain", Stage.customer(1), "--entitlement", "pro", "--at", Forge.now.rfc3339)
        #expect(has.status == 0, "\(has.output)")
        #expect(await again.terminate() == 0)
    }

    @Test func eventsAreListedFromAPlaceOn() async throws {
        let serving = try await Serving()
        for number in 0..<2 { #expect(try await serving.post(try Forge.notification(lineage: "\(number)")) == "200") }
        var lines: [JSONValue] = []
        let areTold = try await eventually {
            lines = try await serving.holdfast("events", "--json").output.split(separator: "\n").map {
                try JSONValue.parse(Array($0.utf8))
            }
            return lines.count >= 4
        }
        #expect(areTold)
        let place = try #require(lines.first?["place"]?.string)
        let rest = try await serving.holdfast("events", "--json", "--after", place)
        #expect(rest.output.split(separator: "\n").count == lines.count - 1)
        let wrong = try await serving.holdfast("events", "--after", "soon")
        #expect(wrong.status == 2)
        #expect(wrong.output.contains("--after"))
        #expect(await serving.process.terminate() == 0)
    }

    @Test func partsThatNeedServersRefuseAndSayWhy() async throws {
        let serving = try await Serving()
        for command in ["gateway", "consumer"] {
            let refused = try await serving.holdfast(command)
            #expect(refused.status == 2)
            #expect(refused.output.contains("store.kind is embedded"), "\(refused.output)")
        }
        let second = try await serving.holdfast("serve")
        #expect(second.status != 0)
        let move = try await serving.holdfast("move")
        #expect(move.status == 2)
        #expect(move.output.contains("stop holdfast serve first"), "\(move.output)")
        let doctor = try await serving.holdfast("doctor", "--no-test", "--json")
        #expect(doctor.output.contains("embedded"), "\(doctor.output)")
        #expect(await serving.process.terminate() == 0)
    }
}
