// Runs the Kotlin sample of the page "Apps for Android" against a scripted registry on this machine.
import com.sun.net.httpserver.HttpServer
import org.json.JSONObject
import java.net.InetSocketAddress
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread

class Answer(val status: Int, val members: String = "{}", val retryAfter: String? = null)
class Call(val name: String, val credential: String, val ifMatch: String?, val body: JSONObject)

class Memory : PushRegistration.Store {
    override var eTag: String? = null
    override var logouts: String? = null
    override var attempts = 0
}

val calls = ConcurrentLinkedQueue<Call>()
val script = ConcurrentLinkedQueue<Answer>()
val open = AtomicInteger()

fun serve(): HttpServer {
    val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    server.executor = Executors.newFixedThreadPool(8)
    server.createContext("/") { exchange ->
        check(open.incrementAndGet() == 1) { "one request at a time" }
        val body = JSONObject(exchange.requestBody.bufferedReader().readText())
        val isLogout = exchange.requestURI.path.endsWith("/logout")
        val headers = exchange.requestHeaders
        calls.add(Call(exchange.requestMethod + if (isLogout) " logout" else "", headers.getFirst("Authorization"),
            headers.getFirst("If-Match"), body))
        val answer = script.poll()
            ?: Answer(200, """{"generation": ${calls.size}, "registerAgainBefore": "2027-01-21T10:00:00Z"}""")
        answer.retryAfter?.let { exchange.responseHeaders.add("Retry-After", it) }
        val bytes = answer.members.toByteArray()
        open.decrementAndGet()
        exchange.sendResponseHeaders(answer.status, bytes.size.toLong())
        exchange.responseBody.use { it.write(bytes) }
    }
    server.start()
    return server
}

fun begin(vararg answers: Answer) { calls.clear(); script.clear(); script.addAll(answers) }

fun main() {
    val server = serve()
    val url = "http://127.0.0.1:${server.address.port}/v1/apps/a/installations/i"
    fun client(store: Memory = Memory(), credential: () -> String = { "alice" }) =
        PushRegistration(url, store, credential)
    val body = registrationBody("token", "i", true, "1.0")
    check(body.getJSONObject("device").getString("installId") == "i")

    begin()
    val push = client()
    (1..8).map { thread { push.register(body) } }.forEach { it.join() }
    check(push.register(body) is PushRegistration.Outcome.Registered)
    println("ok calls run one after the other")

    var asked = 0
    begin(Answer(401, """{"code": "invalid-credential"}"""))
    check(client { "jwt-${++asked}" }.register(body) is PushRegistration.Outcome.Registered)
    check(calls.map { it.credential } == listOf("Bearer jwt-1", "Bearer jwt-2"))
    begin(Answer(401, """{"code": "x"}"""), Answer(401, """{"code": "x"}"""))
    check(client().register(body) is PushRegistration.Outcome.Misconfigured && calls.size == 2)
    println("ok a 401 asks for the credential again, once")

    for ((status, code) in listOf(409 to "session-ended", 401 to "credential-ended")) {
        begin(Answer(status, """{"code": "$code"}"""))
        check(client().register(body) == PushRegistration.Outcome.SignedOutElsewhere && calls.size == 1)
    }
    println("ok an ended session is reported")

    val store = Memory()
    begin()
    client(store).register(body)
    begin(Answer(412, """{"code": "outdated"}"""))
    check(client(store).register(body) is PushRegistration.Outcome.Registered)
    check(calls.map { it.ifMatch } == listOf("\"1\"", null))
    println("ok 412 is sent again without If-Match")

    val busy = Memory()
    begin(Answer(503, retryAfter = "30"), Answer(429), Answer(500))
    val waits = (1..3).map { (client(busy).register(body) as PushRegistration.Outcome.TryAgain).afterMillis }
    check(waits[0] in 30_000..30_999 && waits[1] in 0..1_999 && waits[2] in 0..3_999) { "$waits" }
    println("ok waits have full jitter on top of Retry-After")

    for (status in listOf(400, 403, 404, 413, 415)) {
        begin(Answer(status, """{"code": "a-fault"}"""))
        check(client().register(body) is PushRegistration.Outcome.Misconfigured && calls.size == 1)
    }
    println("ok a refusal is not repeated")

    val left = Memory()
    begin()
    client(left).register(body)
    begin(Answer(503))
    check(client(left).signOut("alice's") is PushRegistration.Outcome.TryAgain)
    begin()
    client(left) { "bob" }.register(body)
    check(calls.map { it.name } == listOf("POST logout", "PUT"))
    check(calls.first().credential == "Bearer alice's" && calls.first().ifMatch == "\"1\"")
    check(calls.last().ifMatch == null)
    println("ok a logout is stored, and sent before the next registration")

    java.util.Locale.setDefault(java.util.Locale("eo"))
    check(!registrationBody("token", "i", true, "1.0").getJSONObject("device").has("region"))
    println("ok a locale without a country has no region")

    println("8 checks passed")
    System.exit(0)
}
