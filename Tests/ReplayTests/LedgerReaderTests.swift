import Broker
import Replay
import Runtime
import TestSupport
import Testing

@Suite("Reading the ledger", .timeLimit(.minutes(6))) struct LedgerReaderTests {
    private func message(_ number: Int, bytes: Int = 10) -> BrokerMessage {
        BrokerMessage(body: [UInt8](repeating: 0x20, count: bytes), headers: ["number": "\(number)"])
    }

    private func numbers(_ deliveries: [BrokerDelivery]) -> [Int] {
        deliveries.map { $0.message.headers["number"].flatMap { Int($0) } ?? -1 }
    }

    /// Reads to the end as it is now.
    private func read(_ reader: LedgerReader) async throws -> [BrokerDelivery] {
        let end = try #require(try await reader.bounds()).newest.offset
        var deliveries: [BrokerDelivery] = []
        while case let next = try await reader.next(through: end), !next.isEmpty { deliveries += next }
        return deliveries
    }

    @Test func whatWasConfirmedIsWithinTheBoundsThatAreAskedForNext() async throws {
        try await Stage.with { stage in
            let reader = try LedgerReader(settings: stage.broker, batch: 4)
            for number in 0..<30 {
                try await stage.publisher.publish(message(number), to: stage.broker.names.intake)
                let bounds = try await reader.bounds()
                #expect(bounds?.newest.headers["number"] == "\(number)")
                #expect(bounds?.oldest.headers["number"] == "0")
                #expect(bounds?.isWhole == true)
            }
        }
    }

    @Test func everyMessageComesOnceAndInOrder() async throws {
        try await Stage.with { stage in
            for number in 0..<500 { try await stage.publisher.publish(message(number), to: stage.broker.names.intake) }
            let reader = try LedgerReader(settings: stage.broker, batch: 16)
            let deliveries = try await read(reader)
            #expect(numbers(deliveries) == Array(0..<500))

            // Read on after the end has moved, and from the middle.
            for number in 500..<520 {
                try await stage.publisher.publish(message(number), to: stage.broker.names.intake)
            }
            let more = try await read(reader)
            #expect(numbers(more) == Array(500..<520))
            let middle = try #require(deliveries[400].streamOffset)
            await reader.seek(.offset(middle))
            let rest = try await read(reader)
            #expect(numbers(rest) == Array(400..<520))
        }
    }

    @Test func nothingBeyondTheEndIsReadAndNothingOfItIsLost() async throws {
        try await Stage.with { stage in
            for number in 0..<100 { try await stage.publisher.publish(message(number), to: stage.broker.names.intake) }
            let reader = try LedgerReader(settings: stage.broker)
            let bounds = try #require(try await reader.bounds())
            let end = bounds.newest.offset - 60
            var first: [BrokerDelivery] = []
            while case let next = try await reader.next(through: end), !next.isEmpty { first += next }
            check(first.allSatisfy { ($0.streamOffset ?? .max) <= end })
            let rest = try await read(reader)
            #expect(numbers(first + rest) == Array(0..<100))
        }
    }

    @Test func anEmptyLedgerHasNoBounds() async throws {
        try await Stage.with {
            $0.connectTimeout = .seconds(1)
        } _: { stage in
            let reader = try LedgerReader(settings: stage.broker)
            #expect(try await reader.bounds() == nil)
            let source = try await LedgerSource(reader)
            #expect(try await source.next().isEmpty)
        }
    }

    @Test func aLedgerWhoseBeginningWasRemovedSaysSo() async throws {
        try await Stage.with {
            $0.ledgerMaximumBytes = 2 << 20
            $0.ledgerSegmentBytes = 1 << 20
        } _: { stage in
            for number in 0..<80 {
                try await stage.publisher.publish(message(number, bytes: 100_000), to: stage.broker.names.intake)
            }
            let reader = try LedgerReader(settings: stage.broker)
            let isCut = try await eventually { try await reader.bounds()?.isWhole == false }
            #expect(isCut)
            let deliveries = try await read(reader)
            #expect(deliveries.last?.message.headers["number"] == "79")
            #expect(deliveries.count < 80)
        }
    }

    @Test func readingGoesOnWhereItWasWhenTheBrokerComesBack() async throws {
        try await RabbitMQServer.withOwn { rabbit in
            var settings = BrokerSettings()
            settings.port = rabbit.port
            let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
            try await publisher.start()
            for number in 0..<200 { try await publisher.publish(message(number), to: settings.names.intake) }
            await publisher.drain()
            let reader = try LedgerReader(settings: settings, batch: 20, patience: .seconds(90))
            let end = try #require(try await reader.bounds()).newest.offset
            var deliveries = try await reader.next(through: end)
            try await rabbit.restart()
            while case let next = try await reader.next(through: end), !next.isEmpty { deliveries += next }
            #expect(numbers(deliveries) == Array(0..<200))
            #expect(await reader.lost.isEmpty)
        }
    }
}
