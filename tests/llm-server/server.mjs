// Serves a GGUF model as an OpenAI-compatible endpoint, `POST /v1/chat/completions`, one request at a time.
// A JSON schema in `response_format` becomes a grammar, so that the answer fits it.
// Arguments: RUNTIME (folder of node-llama-cpp) MODEL (file) [PORT [THREADS]]. On a busy machine several threads
// wait for each other more than they compute.
import { createServer } from "node:http";
import { basename, resolve } from "node:path";

const [runtime, file, port = "8089", threads = "1"] = process.argv.slice(2);
const { getLlama, LlamaChatSession } = await import(resolve(runtime, "node_modules/node-llama-cpp/dist/index.js"));
const name = basename(file, ".gguf");
const llama = await getLlama({ build: "never", gpu: false, logLevel: "error" });
const model = await llama.loadModel({ modelPath: resolve(file) });
const context = await model.createContext({ contextSize: 8192, threads: Number(threads) });
// One sequence for all: what two prompts begin with alike is read once.
const sequence = context.getSequence();

async function complete(body, signal) {
    const text = (role) => body.messages.filter((m) => m.role === role).map((m) => m.content).join("\n\n");
    const [system, user] = [text("system"), text("user")];
    const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? 1024;
    const prompt_tokens = model.tokenize(system).length + model.tokenize(user).length;
    if (prompt_tokens + maxTokens > context.contextSize - 64)
        throw Object.assign(new Error(`prompt of ${prompt_tokens} tokens is too long`), { status: 400 });
    const format = body.response_format;
    const grammar =
        format?.type === "json_schema" ? await llama.createGrammarForJsonSchema(format.json_schema.schema)
        : format?.type === "json_object" ? await llama.getGrammarFor("json")
        : undefined;
    const session = new LlamaChatSession({ contextSequence: sequence, systemPrompt: system });
    const { temperature = 0, seed } = body;
    const options = { maxTokens, temperature, seed, grammar, signal };
    // A session that is not let go, of a request that was given up, would hold the sequence for ever.
    const { responseText: content, stopReason } = await session.promptWithMeta(user, options)
        .finally(() => session.dispose({ disposeSequence: false }));
    const finish_reason = stopReason === "maxTokens" ? "length" : "stop";
    const usage = { prompt_tokens, completion_tokens: model.tokenize(content).length };
    return { object: "chat.completion", model: name, choices: [{ index: 0, message: { role: "assistant", content }, finish_reason }], usage };
}

let last = Promise.resolve(); // the request before, so that each waits for it
createServer((request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    let json = "";
    request.setEncoding("utf8").on("data", (chunk) => (json += chunk)).on("end", () => {
        if (request.url !== "/v1/chat/completions") return answer(404, { error: { message: "no such path" } });
        const work = last.then(() => gone.signal.aborted || complete(JSON.parse(json), gone.signal));
        last = work.then((reply) => answer(200, reply), (e) => answer(e.status ?? 500, { error: { message: `${e.message}` } }));
    });
}).listen(Number(port), "127.0.0.1", () => console.error(`serving ${name} on http://127.0.0.1:${port}/v1`));
