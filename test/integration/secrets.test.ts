import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startAuthorizationServer } from "../support/authorization-server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, refuses, reply, says } from "../support/model-server/turn.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor, streamLines } from "../e2e/hermes-process.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** Values that no rule could know by their shape, except the ones with an issuer's prefix. */
const SECRETS = {
  exported: "quagga-lantern-77-exported",
  dotenv: "walrus-teapot-31-dotenv",
  modelKey: "heron-bicycle-58-modelkey",
  inOutput: "ghp_Qm7Zr2Xw9Tn4Lk8Vb3Hs6Jd1",
  inFile: "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8",
} as const

test("planted secrets reach nothing but the Authorization header", async () => {
  await using model = await startModelServer([
    reply({
      calls: [
        { name: "terminal", input: { command: "env; set" } },
        { name: "terminal", input: { command: `cat "$HERMES_HOME/.env"; echo ${SECRETS.inOutput} >&2` } },
        { name: "terminal", input: { command: 'cat "$HERMES_HOME/config.yaml"' } },
      ],
    }),
    reply({
      calls: [
        { name: "read_file", input: { path: "app.ts" } },
        { name: "search_files", input: { pattern: "KEY|quagga", path: "." } },
      ],
    }),
    says("There are some."),
  ])
  await using home = await temporaryHome({
    config: settingsFor(model, "  api_key: ${ACME_API_KEY}\nlogging:\n  level: DEBUG\n"),
    files: { ".env": `EXA_API_KEY=${SECRETS.dotenv}\nACME_API_KEY='${SECRETS.modelKey}'\n` },
    env: { BRAVE_API_KEY: SECRETS.exported },
    workFiles: { "app.ts": `const KEY = "${SECRETS.inFile}"\nconst other = "${SECRETS.exported}"\n` },
  })
  const result = await hermes(
    home,
    ["-q", "what keys are there?", "--output-format", "stream-json", "--verbose", "--yolo"],
    {
      stdin: "inherit-null",
    },
  )
  expect([result.code, model.unanswered.length, model.requests.length]).toEqual([0, 0, 3])
  expect(model.requests.map(({ headers }) => headers["authorization"])).toEqual(
    Array.from({ length: 3 }, () => `Bearer ${SECRETS.modelKey}`),
  )
  expect(await findSecrets({ home, model, stdout: result.stdout, stderr: result.stderr })).toEqual([])

  const own = (text: string) => /^(?:BRAVE_API_KEY|EXA_API_KEY|ACME_API_KEY)=/m.test(text)
  const seen = JSON.parse(model.toolResults(1)[0]?.text ?? "{}").output as string
  expect([seen.includes("HERMES_HOME="), own(seen)]).toEqual([true, false])
})

test("keys of logins, headers and addresses are masked too, also in what a server says when it refuses", async () => {
  const planted = {
    login: "gecko-parasol-12-login",
    header: "lynx-saucepan-90-header",
    address: "otter-marble-45-address",
    proxy: "puffin-ladder-66-proxy",
  }
  const all = Object.values(planted).join(" ")
  await using model = await startModelServer([
    callsTool("terminal", { command: `echo ${all}` }),
    refuses(401, `Incorrect API key provided: ${all} ${SECRETS.modelKey}`),
  ])
  const address = model.url.replace("://", `://me:${planted.address}@`)
  await using home = await temporaryHome({
    config: settingsFor(
      model,
      `  api_key: ${SECRETS.modelKey}\n  default_headers: { x-extra-key: ${planted.header} }\n`,
    ).replace(model.url, address),
    files: {
      "auth.json": JSON.stringify({
        version: 1,
        credential_pool: { openrouter: [{ id: "a", auth_type: "api_key", access_token: planted.login }] },
      }),
    },
    env: { HTTPS_PROXY: `http://me:${planted.proxy}@127.0.0.1:1`, NO_PROXY: "127.0.0.1" },
  })
  const run = (...args: readonly string[]) => hermes(home, args, { stdin: "inherit-null" })
  const asked = await run("-q", "go", "--verbose")
  expect([asked.code, model.requests.length]).toEqual([1, 2])
  const told = await Promise.all([run("status"), run("dump"), run("config", "show"), run("doctor")])
  const seen = [asked, ...told].map(({ stdout, stderr }) => stdout + stderr).join("\n") + model.requests[1]?.rawBody
  expect(Object.values({ ...planted, key: SECRETS.modelKey }).filter((secret) => seen.includes(secret))).toEqual([])
  const own = new Set([...OWN_FILES, "auth.json"])
  for (const secret of Object.values(planted)) {
    expect((await filesHolding(home.path, secret)).filter((path) => !own.has(path))).toEqual([])
  }
})

test("a login that is renewed on the way is masked like one that was there at the start", async () => {
  await using logins = await startAuthorizationServer()
  const { accessToken, refreshToken } = logins.issue()
  const login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: new Date(Date.now() - 1000).toISOString(),
  }
  const [renewed, renewal] = ["access-token-2", "refresh-token-2"]
  await using model = await startModelServer([
    callsTool("terminal", { command: `echo ${renewed} ${renewal}` }),
    says(`The login is ${renewed}.`),
  ])
  await using assembled = await assembleApp([], {
    files: {
      "config.yaml": [
        "model: { provider: nous, default: test-model }",
        `providers: { nous: { base_url: "${model.url}/v1", oauth: { token_url: "${logins.url}/token", client_id: client-1 } } }`,
      ].join("\n"),
      "auth.json": JSON.stringify({ active_provider: "nous", providers: { nous: login } }),
    },
  })
  const { events } = await runToEnd(await assembled.open(), "Hi.")
  expect(model.requests.map(({ headers }) => headers["authorization"])).toEqual([
    `Bearer ${renewed}`,
    `Bearer ${renewed}`,
  ])
  const seen = JSON.stringify(events) + model.requests.map(({ rawBody }) => rawBody).join("\n")
  expect([renewed, renewal].filter((secret) => seen.includes(secret))).toEqual([])
  expect(seen).toContain("The login is ***")
})

test("a secret that the model itself writes is masked in what is kept, sent again and told", async () => {
  await using model = await startModelServer([
    callsTool("write_file", { path: "notes.md", content: `deploy with ${SECRETS.dotenv}\n` }),
    callsTool("terminal", { command: `echo ${SECRETS.dotenv} | wc -c; false ${SECRETS.dotenv}` }),
    says(`The key is ${SECRETS.dotenv}.`),
    says("Bye."),
  ])
  await using home = await temporaryHome({
    config: settingsFor(model),
    files: { ".env": `EXA_API_KEY=${SECRETS.dotenv}\n` },
  })
  const stream = ["--output-format", "stream-json", "--no-deltas"]
  const first = await hermes(home, ["-q", "go", ...stream], { stdin: "inherit-null" })
  const second = await hermes(home, ["-q", "bye", "--continue", ...stream], { stdin: "inherit-null" })
  expect([first.code, second.code]).toEqual([0, 0])
  const stdout = first.stdout + second.stdout
  expect(await findSecrets({ home, model, stdout, stderr: first.stderr + second.stderr })).toEqual([])
  // The calls themselves ran with what the model wrote.
  expect(await readFile(join(home.workdir, "notes.md"), "utf8")).toBe(`deploy with ${SECRETS.dotenv}\n`)
  expect(JSON.parse(model.toolResults(2)[0]?.text ?? "{}").output).toBe(String(SECRETS.dotenv.length + 1))
})

test("a key that stands in config.yaml itself is masked as well", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: 'cat "$HERMES_HOME/config.yaml"' }),
    says("Seen."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, `  api_key: ${SECRETS.modelKey}\n`) })
  const result = await hermes(home, ["-q", "show the settings", "--output-format", "stream-json"], {
    stdin: "inherit-null",
  })
  expect(model.requests[0]?.headers["authorization"]).toBe(`Bearer ${SECRETS.modelKey}`)
  const found = await findSecrets({ home, model, stdout: result.stdout, stderr: result.stderr })
  expect(found).toEqual([])
})

test("a secret that arrives in two pieces does not pass through the progress of a command", async () => {
  const [head, tail] = [SECRETS.dotenv.slice(0, 11), SECRETS.dotenv.slice(11)]
  await using model = await startModelServer([
    callsTool("terminal", { command: `printf 'key ${head}'; sleep 0.1; printf '${tail}\\n'` }),
    says("Seen."),
  ])
  await using home = await temporaryHome({
    config: settingsFor(model),
    files: { ".env": `EXA_API_KEY=${SECRETS.dotenv}\n` },
  })
  const { stdout } = await hermes(home, ["-q", "go", "--output-format", "stream-json"], { stdin: "inherit-null" })
  const progress = streamLines(stdout).flatMap((line) => (line.type === "tool.progress" ? [String(line["text"])] : []))
  expect(progress.length).toBeGreaterThan(0)
  expect(progress.join("")).not.toContain(SECRETS.dotenv)
})

test("two apps with two homes in one process leak nothing to each other", async () => {
  const script = (name: string) => [
    callsTool("memory", { action: "add", target: "memory", content: `remembers ${name}` }),
    callsTool("terminal", { command: "echo $HERMES_HOME; pwd; env | grep -c API_KEY" }),
    says(`Hello from ${name}.`),
    says("And again."),
  ]
  const make = (name: string) =>
    assembleApp(script(name), {
      files: { ".env": `EXA_API_KEY=${name}-secret-0123456789\n`, "SOUL.md": `You are ${name}.\n` },
    })
  await using first = await make("osprey")
  await using second = await make("badger")
  const houses = [
    { own: "osprey", other: "badger", house: first },
    { own: "badger", other: "osprey", house: second },
  ]
  await Promise.all(houses.map(async ({ house }) => await runToEnd(await house.open(), "hello")))
  await Promise.all(houses.map(async ({ house }) => await runToEnd(await house.open(), "hello again")))

  for (const { own, other, house } of houses) {
    const sent = house.model.requests.map(({ rawBody }) => rawBody).join("\n")
    expect([sent.includes(other), sent.includes(`You are ${own}.`)]).toEqual([false, true])
    expect(house.model.requests.at(-1)?.rawBody).toContain(`remembers ${own}`)
    expect(JSON.parse(house.model.toolResults(2)[0]?.text ?? "{}").output).toBe(
      `${house.home.path}\n${house.home.workdir}\n0`,
    )
    expect(await filesHolding(house.home.path, other)).toEqual([])
    expect(await (await house.app.store()).count()).toBe(2)
  }
})

interface Traces {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly stdout: string
  readonly stderr: string
}

/** The person's own files, and the cache of the settings, which is as private as they are. */
const OWN_FILES = new Set([".env", "config.yaml", "cache/config.parsed.json"])

/** Every place a secret was found in that is not its own file. */
async function findSecrets({ home, model, stdout, stderr }: Traces): Promise<readonly string[]> {
  const found: string[] = []
  for (const [name, secret] of Object.entries(SECRETS)) {
    if (stdout.includes(secret)) found.push(`${name} in the output`)
    if (stderr.includes(secret)) found.push(`${name} on stderr`)
    for (const [index, request] of model.requests.entries()) {
      if (request.rawBody.includes(secret)) found.push(`${name} in request ${index}`)
    }
    for (const path of await filesHolding(home.path, secret)) {
      if (!OWN_FILES.has(path)) found.push(`${name} in ${path}`)
      else if (((await stat(join(home.path, path))).mode & 0o077) !== 0 && path !== "config.yaml" && path !== ".env")
        found.push(`${name} in ${path}, which others may read`)
    }
  }
  return found
}

async function filesHolding(root: string, text: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const holding: string[] = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    if ((await readFile(path)).includes(text)) holding.push(path.slice(root.length + 1))
  }
  return holding.toSorted()
}
