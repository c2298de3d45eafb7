import CacheTier
import Entitlements
import Redis
import Runtime
import TestSupport
import Testing
import Time

/// Which product map counts, and what it does not know.
@Suite struct ProductMapCheckTests {
    private let app = AppID("demo")

    private func examinee(_ server: RedisServer, products: String?) throws -> Examinee {
        try Examinee(app: products.map { "\"products\": {\($0)}" }, #","redis":{"port":\#(server.port)}"#)
    }

    private func line(_ examinee: Examinee) async throws -> Examinee.Line {
        try await examinee.examine("--skip", "rabbitmq")["products, demo"]
    }

    private func publish(_ products: [String: ProductMap.Product], _ redis: RedisClient, over version: UInt64 = 0)
        async throws
    {
        _ = try await ProductMapStore(redis: redis).publish(
            ProductMapDocument(products: products), for: app, expecting: version,
            first: ProductMapDocument(products: [:]), by: "tests", comment: "", at: WallClock.system.now())
        // Nobody is there to be told.
        _ = try await ProductMapRecomputer(redis: redis, settings: ProductMapSettings()) { _ in }
            .run(app, policy: .standard)
    }

    @Test func itSaysWhichMapCountsAndWhatItDoesNotKnow() async throws {
        try await RedisServer.withOwn { server in
            let loop = try EventLoop(name: "doctor-maps")
            var settings = RedisSettings()
            settings.port = server.port
            settings.commandTimeout = .seconds(30)
            let redis = RedisClient(name: "doctor-maps", settings: settings, loop: loop)
            await redis.start()
            let examinee = try examinee(server, products: #""pro": {"entitlements": ["pro"]}"#)
            let fresh = try await line(examinee)
            #expect(fresh.status == "fine")
            #expect(fresh.detail == "the settings' map, with 1 product")

            try await publish(["pro": .init(entitlements: ["pro"])], redis)
            let same = try await line(examinee)
            #expect(same.status == "fine", "\(same)")
            #expect(same.detail.hasPrefix("version 1 of 2"))

            try await publish(
                ["pro": .init(entitlements: ["pro"]), "max": .init(entitlements: ["pro"])], redis, over: 1)
            let other = try await line(examinee)
            #expect(other.status == "warning")
            #expect(
                other.detail.contains("version 2 counts, and the settings' map, which does not, says something else"))
            #expect(other.remedies.first?.contains("holdfast products diff settings current --app demo") == true)

            try await UnmappedProducts(redis: redis).note(
                "forgotten", of: app, in: .production, at: WallClock.system.now())
            let unmapped = try await line(examinee)
            #expect(unmapped.status == "warning")
            #expect(
                unmapped.detail.contains("products were bought that the map does not know, and give nothing: forgotten")
            )
            check(unmapped.remedies.contains { $0.contains("holdfast products unmapped --app demo") })
            await redis.close()
            loop.stop()
        }
    }

    @Test func anAppWithoutProductsIsWarnedAbout() async throws {
        try await RedisServer.withOwn { server in
            let found = try await line(try examinee(server, products: nil))
            #expect(found.status == "warning")
            #expect(found.detail == "the map has no product: whatever is bought gives nothing")
        }
    }
}
