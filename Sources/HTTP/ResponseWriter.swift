internal import Time

/// Turns answers into bytes.
enum ResponseWriter {
    static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    static func write(
        _ response: HTTPResponse, to output: inout [UInt8], date: [UInt8], traits: RequestParser.Traits, closes: Bool
    ) {
        let hasBody = response.status != 204 && response.status != 304
        output.reserveCapacity(output.count + 192 + response.headers.bytes.count + response.body.count)
        appendStatusLine(response.status, to: &output)
        append("Date: ", to: &output)
        if case .dated(let time) = response.fault {
            output.append(contentsOf: HTTPDate.text(of: Int(clamping: time.milliseconds / 1000)).utf8)
        } else {
            output.append(contentsOf: date)
        }
        if hasBody {
            append("\r\nContent-Length: ", to: &output)
            appendDecimal(response.body.count, to: &output)
        }
        if closes {
            append("\r\nConnection: close", to: &output)
        } else if traits.isHTTP10 {
            append("\r\nConnection: keep-alive", to: &output)
        }
        append("\r\n", to: &output)
        let source = response.headers.bytes
        for field in response.headers.fields where !isOwn(source, field.name) {
            output.append(contentsOf: source[field.name])
            append(": ", to: &output)
            output.append(contentsOf: source[field.value])
            append("\r\n", to: &output)
        }
        append("\r\n", to: &output)
        guard hasBody, !traits.isHead else { return }
        if case .truncated(let count) = response.fault {
            output.append(contentsOf: response.body.prefix(max(0, count)))
        } else {
            output.append(contentsOf: response.body)
        }
    }

    private static func isOwn(_ bytes: [UInt8], _ name: Range<Int>) -> Bool {
        switch name.count {
        case 4: RequestParser.equals(bytes.span, name, "date")
        case 10: RequestParser.equals(bytes.span, name, "connection")
        case 14: RequestParser.equals(bytes.span, name, "content-length")
        case 17: RequestParser.equals(bytes.span, name, "transfer-encoding")
        default: false
        }
    }

    private static func appendStatusLine(_ status: Int, to output: inout [UInt8]) {
        if status == 200 {
            append("HTTP/1.1 200 OK\r\n", to: &output)
            return
        }
        append("HTTP/1.1 ", to: &output)
        appendDecimal(min(max(status, 100), 999), to: &output)
        output.append(.blank)
        output.append(contentsOf: HTTPStatus.phrase(status).utf8)
        append("\r\n", to: &output)
    }

    private static func append(_ text: StaticString, to output: inout [UInt8]) {
        unsafe output.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private static func appendDecimal(_ number: Int, to output: inout [UInt8]) {
        if number >= 10 { appendDecimal(number / 10, to: &output) }
        output.append(48 + UInt8(number % 10))
    }
}

/// The names of status codes.
package enum HTTPStatus {
    package static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "Status \(status)"
        }
    }
}
