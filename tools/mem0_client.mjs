// mem0's published npm client and its command line on a server that speaks mem0's platform API.
//   URL=http://127.0.0.1:8438 KEY=token NPM=folder node tools/mem0_client.mjs
// NPM is a folder with the packages mem0ai and @mem0/cli. `python -m tools.suites` runs it.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

process.env.MEM0_TELEMETRY = "false";
const { URL: host, KEY: apiKey, NPM: npm } = process.env;
const { MemoryClient } = await import(pathToFileURL(join(npm, "node_modules/mem0ai/dist/index.mjs")).href);

const user = `u-${randomUUID()}`;
const filters = { user_id: user };
const results = [];
const check = (name, passed) => {
  results.push(Boolean(passed));
  console.log(passed ? "ok  " : "FAIL", name);
};
const failure = async (work) => {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return null;
};

const client = new MemoryClient({ apiKey, host });
await client.ping();
const said = [
  { role: "user", content: "卵アレルギーがある" },
  { role: "assistant", content: "覚えました" },
];
const added = await client.add(said, { userId: user, metadata: { source: "chat" } });
check("add answers an event", added.eventId && added.status === "SUCCEEDED");
await client.add([{ role: "user", content: "I work at Acme Corp." }], { userId: user, runId: "r1", appId: "shop" });
const all = await client.getAll({ filters });
const egg = all.results.find((row) => row.memory.includes("卵"));
check("getAll gives what was added", all.count >= 2 && egg?.metadata.source === "chat");
const page = await client.getAll({ filters, page: 1, pageSize: 1 });
check("getAll gives a page", page.results.length === 1 && page.next);
const hits = (await client.search("卵は食べられる？", { filters })).results;
check("a Japanese question finds a Japanese memory first", hits[0]?.memory.includes("卵") && hits[0].score > 0);
check("search with topK", (await client.search("Acme", { filters, topK: 1 })).results.length === 1);
const narrow = { AND: [filters, { run_id: "r1" }, { app_id: "*" }] };
check("search with filters", (await client.search("work", { filters: narrow })).results.length === 1);
const nobody = await client.search("Acme", { filters: { user_id: `nobody-${user}` } });
check("another user sees nothing", nobody.results.length === 0);
check("get by id", (await client.get(egg.id)).memory === egg.memory);
await client.update(egg.id, { text: "卵アレルギーは治った", metadata: { source: "doctor" } });
const changed = await client.get(egg.id);
check("update changes words and metadata", changed.memory.includes("治った") && changed.metadata.source === "doctor");
const events = (await client.history(egg.id)).map((each) => each.event);
check("history tells ADD and UPDATE", events.includes("ADD") && events.includes("UPDATE"));
const users = await client.users();
check("users lists the user", users.results.some((each) => each.name === user && each.type === "user"));
check("feedback is taken", (await client.feedback({ memoryId: egg.id, feedback: "POSITIVE" })).message);
await client.batchUpdate([{ memoryId: egg.id, text: "卵は食べられる" }]);
check("batchUpdate changes the words", (await client.get(egg.id)).memory.includes("食べられる"));
await client.batchDelete([egg.id]);
const lost = await failure(() => client.get(egg.id));
check("a deleted memory is not found", lost?.constructor.name === "MemoryNotFoundError");
const wrong = await failure(() => client.get("not-an-id"));
check("a wrong id is refused", wrong?.constructor.name === "ValidationError");
const refused = await failure(() => client.add(said, { userId: user, customInstructions: "x" }));
check("what has no meaning is refused", refused?.constructor.name === "ValidationError");
const stranger = new MemoryClient({ apiKey: "wrong", host });
check("a wrong key is refused", await failure(() => stranger.ping()));

const home = mkdtempSync(join(tmpdir(), "mem0-"));
const run = promisify(execFile);
const cli = async (...words) => {
  const command = join(npm, "node_modules/@mem0/cli/dist/index.js");
  const options = { env: { ...process.env, HOME: home }, timeout: 120_000 };
  const given = [command, ...words, "--api-key", apiKey, "--base-url", host];
  return (await run(process.execPath, given, options)).stdout;
};
await cli("add", "The staging server moved to port 8443.", "--user-id", user);
check("mem0 add and search (command line)", (await cli("search", "staging", "--user-id", user)).includes("8443"));
check("mem0 list (command line)", (await cli("list", "--user-id", user)).includes("8443"));
const staging = (await client.search("staging", { filters, topK: 1 })).results[0];
check("mem0 get (command line)", (await cli("get", staging.id)).includes("8443"));
await cli("update", staging.id, "The staging server moved to port 9443.");
check("mem0 update (command line)", (await client.get(staging.id)).memory.includes("9443"));
check("mem0 entity list (command line)", (await cli("entity", "list", "users")).includes(user.slice(0, 8)));
check("mem0 event list (command line)", (await cli("event", "list")).includes("SUCCEEDED"));
await cli("delete", staging.id, "--force");
check("mem0 delete (command line)", await failure(() => client.get(staging.id)));
await client.deleteAll({ userId: user });
check("deleteAll empties the user", (await client.getAll({ filters })).count === 0);

const passed = results.filter(Boolean).length;
console.log(`${passed} of ${results.length} checks passed`);
process.exit(passed === results.length ? 0 : 1);
