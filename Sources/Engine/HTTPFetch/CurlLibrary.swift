import CCurl

/// libcurl, loaded on first use and never unloaded.
struct CurlLibrary: @unchecked Sendable {
    /// Not changed after `init`. Any thread may call the functions, each with its own handle.
    let functions: curl_library_

    static let shared = Result { () throws(FetchFailure) in try CurlLibrary() }

    private init() throws(FetchFailure) {
        var functions = curl_library_()
        if let reason = curl_load_(&functions) { throw .missingLibrary(String(cString: reason)) }
        self.functions = functions
    }
}
