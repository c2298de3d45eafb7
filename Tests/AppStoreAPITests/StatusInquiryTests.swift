import AppStore
import Entitlements
import JSON
import Runtime
import Simulator
import TestSupport
import Testing
import Time

/// Asking Apple about a lineage, from the question to what is folded.
@Suite(.timeLimit(.minutes(6))) struct StatusInquiryTests {
    private static let app = AppID("demo")
    private static let identity = AppIdentity(bundleID: "com.example.demo", appAppleID: 1_234_567_890)

    private func lineage(_ id: String) -> LineageID {
        LineageID(app: Self.app, environment: .production, originalTransactionID: id)
    }

    private func failure(_ call: () async throws(StatusFailure) -> StatusAnswer) async -> StatusFailure? {
        do throws(StatusFailure) {
            _ = try await call()
            return nil
        } catch { return error }
    }

    @Test func theStoresAnswerBecomesAMessageThatFoldsToTheTruth() async throws {
        try await SimulatedStore.with { simulator, client, verifier in
            let account = try await simulator.createAccount()
            _ = try await simulator.perform(.buy("demo.premium.monthly"), for: account)
            _ = try await simulator.perform(.buy("demo.lifetime"), for: account)
            let inquiry = StatusInquiry(client: client, verifier: verifier, identity: Self.identity)
            for truth in await simulator.truth(of: account) {
                let renews = truth.type == "Auto-Renewable Subscription"
                let question = StatusQuestion(
                    lineage: lineage(truth.originalTransactionID), call: renews ? .statuses : .transaction,
                    transactionID: truth.transactionID)
                let answer = try await inquiry.ask(question, for: .reconcile, .sweep)
                #expect(answer.isAboutTheLineage)
                #expect(answer.observations.map(\.lineage) == [question.lineage])
                #expect(answer.observations.first?.status?.status == (renews ? 1 : nil))
                var record = LineageRecord(lineage: question.lineage)
                for observation in answer.observations { record.fold(observation) }
                #expect(StatusQuestion(about: record) == question)
                let now = WallClock.system.now()
                #expect(record.evaluated(at: now, map: ProductMap()).state == .active)
                // What travels is read as the same.
                let read = try StatusMessage(decoding: answer.message.encoded(), app: Self.app)
                #expect(read == answer.message)
                let again = try StatusVerifier(verifier).verify(read, for: Self.identity, now: now)
                #expect(again.observations == answer.observations)
            }
        }
    }

    @Test func whatFailsSaysWhetherItPasses() async throws {
        try await SimulatedStore.with { simulator, client, verifier in
            let inquiry = StatusInquiry(client: client, verifier: verifier, identity: Self.identity)
            let question = StatusQuestion(lineage: lineage("99"), call: .statuses, transactionID: "99")
            let unknown = await failure { () async throws(StatusFailure) in
                try await inquiry.ask(question, for: .refresh, .support)
            }
            #expect(unknown?.code == "TransactionIdNotFound")
            #expect(unknown?.isPassing == false)
            var behaviour = APIBehaviour()
            behaviour.failStatus = 503
            await simulator.setBehaviour(api: behaviour)
            let broken = await failure { () async throws(StatusFailure) in
                try await inquiry.ask(question, for: .refresh, .support)
            }
            #expect(broken?.code == "server")
            #expect(broken?.isPassing == true)
        }
    }

    @Test("Invariant 2: an answer that cannot be used is there to be kept")
    func anAnswerThatCannotBeUsedIsThereToBeKept() async throws {
        try await SimulatedStore.with { simulator, client, verifier in
            let account = try await simulator.createAccount()
            _ = try await simulator.perform(.buy("demo.premium.monthly"), for: account)
            let id = try #require(await simulator.truth(of: account).first?.transactionID)
            let stranger = AppIdentity(bundleID: "com.example.other", appAppleID: 1)
            let inquiry = StatusInquiry(client: client, verifier: verifier, identity: stranger)
            let question = StatusQuestion(lineage: lineage(id), call: .statuses, transactionID: id)
            let refused = await failure { () async throws(StatusFailure) in
                try await inquiry.ask(question, for: .refresh, .support)
            }
            guard case .unusable(let failure, let message) = refused else {
                Issue.record("it was \(String(describing: refused))")
                return
            }
            #expect(failure.code == .disagreement)
            #expect(refused?.isPassing == false)
            #expect(message.question == question)
        }
    }
}
