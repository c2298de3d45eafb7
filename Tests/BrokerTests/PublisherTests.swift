import Broker
import Runtime
import TestSupport
import Testing
import Time

@Suite(.timeLimit(.minutes(6)))
struct PublisherTests {
    @Test("Invariant 1: a confirmed message is in the work queue and in the ledger, as it was sent")
    func aConfirmedMessageIsInBothQueues() async throws {
        try await withPublisher { publisher, settings, inspector in
            let message = BrokerMessage(
                body: Array("body".utf8), headers: ["app": "demo", "correlation": "c-1"], messageID: "m-1",
                type: "notification", contentType: "application/json",
                timestamp: Timestamp(milliseconds: 1_700_000_000_000))
            try await publisher.publish(message, to: settings.names.intake)

            let applied = try await inspector.take(settings.names.apply, limit: 10)
            #expect(applied.map(\.message) == [message])
            #expect(applied.first?.exchange == settings.names.intake)
            let kept = try await inspector.readLedger(limit: 1)
            #expect(kept.map(\.message) == [message])
            #expect(kept.first?.streamOffset == 0)
        }
    }

    @Test func manyCallersAreConfirmedEach() async throws {
        try await withPublisher({ $0.publishWindow = 16 }) { publisher, settings, inspector in
            let exchange = settings.names.intake
            let errors = await withTaskGroup { group in
                for number in 0..<1000 {
                    group.addTask {
                        await errorCode { () throws(BrokerError) in
                            try await publisher.publish(BrokerMessage("\(number)"), to: exchange)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
            }
            #expect(errors.isEmpty)
            let bodies = try await inspector.take(settings.names.apply, limit: 2000).map(\.message.text)
            #expect(bodies.count == 1000)
            #expect(Set(bodies).count == 1000)
        }
    }

    @Test func aBatchKeepsItsOrder() async throws {
        try await withPublisher { publisher, settings, inspector in
            let bodies = (0..<600).map { "\($0)" }
            let errors = await publisher.publish(bodies.map { BrokerMessage($0) }, to: settings.names.intake)
            #expect(errors.count == 600)
            check(errors.allSatisfy { $0 == nil })
            let applied = try await inspector.take(settings.names.apply, limit: 600)
            #expect(applied.map(\.message.text) == bodies)
            let kept = try await inspector.readLedger(limit: 600)
            #expect(kept.map(\.message.text) == bodies)
        }
    }

    @Test func largeAndEmptyBodiesArriveWhole() async throws {
        try await withPublisher { publisher, settings, inspector in
            let large = [UInt8](unsafeUninitializedCapacity: 400_000) { buffer, count in
                for index in 0..<400_000 { buffer[index] = UInt8(truncatingIfNeeded: index &* 31) }
                count = 400_000
            }
            for body in [large, []] {
                try await publisher.publish(BrokerMessage(body: body), to: settings.names.intake)
            }
            #expect(try await inspector.take(settings.names.apply, limit: 2).map(\.message.body) == [large, []])
        }
    }

    @Test("Invariant 2: what cannot be said in the protocol's short texts does not cost the connection, nor the body")
    func oversizedPropertiesCostNeitherTheConnectionNorTheBody() async throws {
        try await withPublisher { publisher, settings, inspector in
            // As text from elsewhere that was no UTF-8 comes out of its mending: three bytes for each.
            let mended = String(repeating: "\u{FFFD}", count: 255)
            let junk = String(repeating: "\u{FFFD}", count: 50_000)
            let numbered = (0..<20_000).map { ("header-\($0)", "value") }
            let many = Dictionary(uniqueKeysWithValues: numbered + [("a", "b")])
            let odd = [
                BrokerMessage(body: Array("id".utf8), messageID: mended, type: mended, contentType: mended),
                BrokerMessage("name", headers: [mended: "x", "app": "demo"]),
                BrokerMessage("value", headers: ["junk": junk, "app": "demo"]),
                BrokerMessage("many", headers: many),
            ]
            for message in odd {
                try await publisher.publish(message, to: "", routingKey: settings.names.apply)
                let found = try await inspector.take(settings.names.apply, limit: 2).map(\.message)
                #expect(found.map(\.body) == [message.body])
                for name in ["app", "a"] {
                    check(found.first?.headers[name] == message.headers[name])
                }
            }
            #expect(publisher.isConnected)
            let short = BrokerMessage("still here", headers: ["app": "demo"])
            try await publisher.publish(short, to: "", routingKey: settings.names.apply)
            #expect(try await inspector.take(settings.names.apply, limit: 2).map(\.message) == [short])
        }
    }

    @Test func aMessageThatNoQueueTakesIsAnError() async throws {
        try await withPublisher { publisher, settings, _ in
            let events = settings.names.events
            // Among others that arrive, so that the right caller is told.
            async let first = errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("a"), to: settings.names.intake)
            }
            async let lost = errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("b"), to: events, routingKey: "nobody")
            }
            async let last = errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("c"), to: settings.names.intake)
            }
            #expect(await [first, lost, last] == [nil, .unroutable, nil])
            // Said not to matter, it does not.
            try await publisher.publish(BrokerMessage("d"), to: events, routingKey: "nobody", mandatory: false)
        }
    }

    @Test("Invariant 2: a full quarantine refuses, and drops nothing")
    func aFullQuarantineRefuses() async throws {
        try await withPublisher({ $0.quarantineMaximumLength = 3 }) { publisher, settings, inspector in
            let names = settings.names
            // The queue tells the broker's channel that it is full a moment later.
            var confirmed = 0
            var code: BrokerError.Code?
            while code == nil, confirmed < 500 {
                let message = BrokerMessage("\(confirmed)")
                code = await errorCode { () throws(BrokerError) in
                    try await publisher.publish(message, to: "", routingKey: names.quarantine)
                }
                if code == nil { confirmed += 1 }
            }
            #expect(code == .nacked)
            #expect(confirmed >= 3)
            let kept = Set(try await inspector.take(names.quarantine, limit: 1000).map(\.message.text))
            check(kept.isSuperset(of: (0..<confirmed).map { "\($0)" }))
        }
    }

    @Test func anExchangeThatIsNotThereFailsAndTheNextPublishSucceeds() async throws {
        try await withPublisher { publisher, settings, _ in
            // The broker closes the channel over it, and so does it to all who share the connection.
            let error = await #expect(throws: BrokerError.self) {
                try await publisher.publish(BrokerMessage("x"), to: "\(settings.prefix).nowhere")
            }
            #expect(error?.code == .unreachable)
            #expect(error?.detail.contains("404 NOT_FOUND - no exchange '\(settings.prefix).nowhere'") == true)
            check(try await eventually { publisher.isHealthy })
            try await publisher.publish(BrokerMessage("y"), to: settings.names.intake)
        }
    }

    @Test func moreThanMayWaitIsRefusedAtOnce() async throws {
        try await withPublisher({
            $0.publishWindow = 1
            $0.maximumWaiting = 4
        }) { publisher, settings, _ in
            let errors = await publisher.publish(
                (0..<10).map { BrokerMessage("\($0)") }, to: settings.names.intake)
            check(errors.prefix(4).allSatisfy { $0 == nil })
            check(errors.suffix(6).allSatisfy { $0?.code == .overloaded })
        }
    }

    @Test("Invariant 10: bodies that wait are bounded in bytes")
    func moreBytesThanMayWaitAreRefusedAtOnce() async throws {
        try await withPublisher({
            $0.publishWindow = 1
            $0.maximumWaitingBytes = 1000
        }) { publisher, settings, _ in
            let errors = await publisher.publish(
                [600, 300, 200, 100].map { BrokerMessage(body: Array(repeating: 1, count: $0)) },
                to: settings.names.intake)
            check(errors.map { $0?.code } == [nil, nil, .overloaded, nil])
        }
    }

    @Test func whatBecameOfMessagesIsCounted() async throws {
        let (settings, metrics) = (BrokerSettings(try await RabbitMQServer.shared()), Metrics())
        let publisher = try BrokerPublisher(name: "p", settings: settings, metrics: metrics, log: .discarding)
        try await publisher.start()
        _ = await publisher.publish((0..<5).map { BrokerMessage("\($0)") }, to: settings.names.intake)
        _ = await publisher.publish([BrokerMessage("x")], to: settings.names.events, routingKey: "nobody")
        await publisher.drain()
        let text = metrics.exposition()
        for line in [
            #"holdfast_broker_publishes_total{publisher="p",outcome="confirmed"} 5"#,
            #"holdfast_broker_publishes_total{publisher="p",outcome="unroutable"} 1"#,
            #"holdfast_broker_publishes_total{publisher="p",outcome="timedOut"} 0"#,
            #"holdfast_broker_sent_total{publisher="p"} 6"#,
            #"holdfast_broker_publisher_connections_total{publisher="p"} 1"#,
            #"holdfast_broker_in_flight{publisher="p"} 0.0"#,
            #"holdfast_broker_blocked{publisher="p"} 0.0"#,
            #"holdfast_broker_confirm_seconds_count{publisher="p"} 5"#,
        ] {
            #expect(text.contains(line + "\n"), "no \(line)")
        }
        try await BrokerInspector(settings: settings).deleteTopology()
    }

    @Test func drainingWaitsForConfirmsAndTakesNothingMore() async throws {
        try await withPublisher { publisher, settings, inspector in
            async let errors = publisher.publish((0..<300).map { BrokerMessage("\($0)") }, to: settings.names.intake)
            let hasBegun = try await eventually { try await inspector.messageCount(of: settings.names.apply) > 0 }
            #expect(hasBegun)
            await publisher.drain()
            check(await errors.allSatisfy { $0 == nil })
            #expect(!publisher.isHealthy)
            let code = await errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("late"), to: settings.names.intake)
            }
            #expect(code == .unreachable || code == .closed)
        }
    }

    @Test func aWrongPasswordStopsTheStart() async throws {
        var settings = BrokerSettings(try await RabbitMQServer.shared())
        settings.password = Secret("wrong")
        let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
        let error = await #expect(throws: BrokerError.self) { try await publisher.start() }
        #expect(error?.code == .refused)
        await publisher.drain()
    }

    @Test func withoutABrokerTheStartSucceedsAndPublishingFailsAtOnce() async throws {
        var settings = BrokerSettings()
        settings.port = 1
        let publisher = try BrokerPublisher(settings: settings, metrics: Metrics(), log: .discarding)
        try await publisher.start()
        #expect(!publisher.isHealthy)
        check(
            await errorCode { () throws(BrokerError) in
                try await publisher.publish(BrokerMessage("x"), to: "anywhere")
            } == .unreachable)
        await publisher.drain()
    }
}
