import JSON
import Runtime
import Synchronization
import Testing
import Time

@Suite struct LogAndMetricsTests {
    @Test func aLogLineIsOneJSONObjectWithItsFields() throws {
        let lines = LineBox()
        let log = Log(
            part: "gateway", minimum: .info, clock: WallClock { Timestamp(milliseconds: 0) }, sink: { lines.append($0) }
        )
        log.debug("not this one")
        log.with(["correlation": "c1"]).part("intake").info("stored", ["bytes": 3, "spooled": true, "note": "a\"b\n"])
        #expect(lines.all.count == 1)
        let line = try #require(lines.all.first)
        #expect(line.last == 10)
        #expect(
            String(decoding: line.dropLast(), as: UTF8.self)
                == #"{"time":"1970-01-01T00:00:00.000Z","level":"info","part":"intake","event":"stored","#
                + #""correlation":"c1","bytes":3,"spooled":true,"note":"a\"b\n"}"#)
    }

    @Test func metricsAreExposedInPrometheusFormat() {
        let metrics = Metrics()
        metrics.counter("holdfast_things_total", "Things.", labels: ["app": "a\"b"]).increment(by: 2)
        metrics.counter("holdfast_things_total", "Things.", labels: ["app": "a\"b"]).increment()
        metrics.gauge("holdfast_open", "Open.").set(1.5)
        let histogram = metrics.histogram("holdfast_seconds", "Time.", buckets: [0.1, 1], labels: ["kind": "x"])
        for value in [0.05, 0.5, 0.5, 7] { histogram.record(value) }
        let expected = """
            # HELP holdfast_open Open.
            # TYPE holdfast_open gauge
            holdfast_open 1.5
            # HELP holdfast_seconds Time.
            # TYPE holdfast_seconds histogram
            holdfast_seconds_bucket{kind="x",le="0.1"} 1
            holdfast_seconds_bucket{kind="x",le="1.0"} 3
            holdfast_seconds_bucket{kind="x",le="+Inf"} 4
            holdfast_seconds_sum{kind="x"} 8.05
            holdfast_seconds_count{kind="x"} 4
            # HELP holdfast_things_total Things.
            # TYPE holdfast_things_total counter
            holdfast_things_total{app="a\\"b"} 3

            """
        #expect(metrics.exposition() == expected)
    }

    private final class LineBox: Sendable {
        private let lines = Mutex<[[UInt8]]>([])
        func append(_ line: [UInt8]) { lines.withLock { $0.append(line) } }
        var all: [[UInt8]] { lines.withLock { $0 } }
    }
}
