import Glibc
import Runtime
import TestSupport
import Testing

@testable import EmbeddedStore

/// Whoever sends a new command, or calls one in a script, teaches it to the embedded store too.
@Suite struct KnownCommandsTests {
    @Test func everyCommandOfTheStoreIsKnown() async throws {
        // In scripts, in lists of words, and as the first word of a link's own `send`.
        let pattern = #"redis\.call\('[A-Z]+'|send\(\[?[[:space:]]*"[A-Z]+"|^ *"[A-Z]{3,}", (key|\.text|Storage)"#
        let sources = ["CacheTier", "Consumer", "Replay", "EmbeddedQueue"].map {
            "\(Command.packageFolder)/Sources/\($0)"
        }
        let found = try await Command.run("/bin/grep", ["-rhoE", pattern] + sources)
        #expect(found.status == 0)
        var names: Set<String> = []
        for line in found.output.split(separator: "\n") {
            let parts = line.split { $0 == "'" || $0 == "\"" }
            if let name = parts.first(where: { !$0.isEmpty && $0.utf8.allSatisfy { $0 >= 65 && $0 <= 90 } }) {
                names.insert(String(name))
            }
        }
        #expect(names.count > 25)
        #expect(names.isSuperset(of: ["HSETNX", "XADD", "EVAL", "ZREMRANGEBYRANK", "SCAN"]))
        for name in names.sorted() { #expect(KeyCommand([Array(name.utf8)]) != nil, "\(name)") }
    }
}
