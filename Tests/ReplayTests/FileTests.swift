import AppStore
import Broker
import CacheTier
import Consumer
import Entitlements
import Glibc
import Replay
import Runtime
import TestSupport
import Testing
import Time

@Suite("Files in place of the ledger") struct FileTests {
    private func read(_ paths: [String], app: String? = nil) async throws -> [LedgerMessage] {
        let source = try FileSource(paths, app: app)
        var messages: [LedgerMessage] = []
        while case let next = try await source.next(), !next.isEmpty { messages += next }
        #expect(await source.share == 1)
        return messages
    }

    @Test func aMessageComesBackFromItsLineAsItWas() throws {
        let bodies = [
            Array(#"{"signedPayload":"a.b.c"}"#.utf8), [0xFF, 0x00, 0x0A], Array("\n\"ä\u{2028}\u{1}".utf8), [],
        ]
        for body in bodies {
            let message = LedgerMessage(
                BrokerMessage(
                    body: body,
                    headers: [
                        MessageHeader.app: "demo", MessageHeader.environment: "sandbox",
                        MessageHeader.receivedAt: Forge.now.rfc3339, "decision": "ä\"\n",
                    ], messageID: "m", type: "t", contentType: "application/json", timestamp: Forge.now), at: .offset(7)
            )
            let line = LedgerLine.encode(message)
            #expect(!line.contains(UInt8(ascii: "\n")))
            #expect(try LedgerLine.decode(line, app: nil, at: .line(1, of: "f")) == message)
            let bare = LedgerMessage(BrokerMessage(body: body), at: .line(1, of: "f"))
            #expect(try LedgerLine.decode(LedgerLine.encode(bare), app: nil, at: .line(1, of: "f")) == bare)
        }
    }

    @Test func bodiesByThemselvesAreReadInEveryForm() async throws {
        let folder = try TemporaryFolder("replay-files")
        let body = try Forge.notification(lineage: "1")
        let jws = String(decoding: try SignedBody.signedPayload(of: body), as: UTF8.self)
        let text = String(decoding: body, as: UTF8.self)
        let lines = try folder.write("\(text)\n\n\(jws)\n\(text)", to: "lines")
        let broken = try folder.write("{\n  \"signedPayload\":\n    \"\(jws)\"\n}\n", to: "broken")
        let messages = try await read([lines, broken], app: "demo")
        #expect(messages.count == 4)
        for message in messages {
            let decoded = try await Stage.decoder().decode(message.message, now: Forge.now)
            #expect(decoded.observation?.lineage == Stage.lineage("1"))
        }
        await #expect(throws: ReplayError.self) { try await read([lines]) }
        let nonsense = try folder.write("\(text)\nnonsense\n", to: "nonsense")
        await #expect(throws: ReplayError.self) { try await read([nonsense], app: "demo") }
    }

    @Test func aStateIsComparedWithItselfAndWithAChangedOne() throws {
        let folder = try TemporaryFolder("replay-state")
        var fold = Fold()
        for number in 0..<50 { try fold.fold(FoldTests.observation("\(number)")) }
        try fold.settle()
        let answers = LineageComparison(rules: [:], at: Forge.now)
        let origin = StateFile.Origin(at: Forge.now, offsets: 3...60, messages: 58, lineages: 50)
        let path = folder.file("state")
        try StateFile.write(fold, origin, answers: answers, to: path)
        #expect(try StateFile.origin(of: path) == origin)
        let same = try StateFile.compare(fold, answers: answers, with: path)
        #expect(same.equal == 50 && same.count == 0)

        var other = Fold()
        for number in 1..<51 {
            let revoked = number == 7 ? Forge.now : nil
            try other.fold(FoldTests.observation("\(number)", FoldTests.fact("\(number)", revoked: revoked)))
        }
        try other.settle()
        let result = try StateFile.compare(other, answers: answers, with: path)
        #expect(result.equal == 48 && result.differs == 1 && result.onlyHere == 1 && result.onlyThere == 1)
        let only = result.differences.compactMap { difference in
            difference.isOnlyHere.map { "\(difference.lineage.originalTransactionID) \($0)" }
        }
        #expect(only.sorted() == ["0 false", "50 true"])
        let others = result.differences.filter { $0.isOnlyHere == nil }
        let changed = try #require(others.first)
        #expect(changed.lineage == Stage.lineage("7"))
        #expect(changed.members.map(\.member) == ["revoked"])
        check(changed.evaluation.contains { $0.member == "state" })
    }

    @Test func whatIsNoFileIsNotReplacedAndALinkIsNotWrittenThrough() throws {
        let folder = try TemporaryFolder("replay-files")
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, folder.path, "/dev/null"] {
            #expect(throws: ReplayError.self) { try LedgerExport(to: path) }
        }
        try folder.write("mine", to: "other")
        #expect(symlink(folder.file("other"), folder.file("out.partial")) == 0)
        _ = try LedgerExport(to: folder.file("out"))
        #expect(try File.text(at: folder.file("other"), limit: 100) == "mine")
    }
}
