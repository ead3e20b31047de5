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

/** Only the last two match a pattern of a known issuer. The others must be recognised as configured values. */
const SECRETS = {
  exported: "quagga-lantern-77-exported",
  dotenv: "walrus-teapot-31-dotenv",
  modelKey: "heron-bicycle-58-modelkey",
  inOutput: "ghp_Qm7Zr2Xw9Tn4Lk8Vb3Hs6Jd1",
  inFile: "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8",
} as const

test("secrets appear only in the Authorization header", async () => {
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

  const hasKeys = (text: string) => /^(?:BRAVE_API_KEY|EXA_API_KEY|ACME_API_KEY)=/m.test(text)
  const seen = JSON.parse(model.toolResults(1)[0]?.text ?? "{}").output as string
  expect([seen.includes("HERMES_HOME="), hasKeys(seen)]).toEqual([true, false])
})

test("secrets in logins, headers and URLs are masked, even in error messages of a server", async () => {
  const planted = {
    login: "gecko-parasol-12-login",
    header: "lynx-saucepan-90-header",
    url: "otter-marble-45-address",
    proxy: "puffin-ladder-66-proxy",
  }
  const all = Object.values(planted).join(" ")
  await using model = await startModelServer([
    callsTool("terminal", { command: `echo ${all}` }),
    refuses(401, `Incorrect API key provided: ${all} ${SECRETS.modelKey}`),
  ])
  const url = model.url.replace("://", `://me:${planted.url}@`)
  await using home = await temporaryHome({
    config: settingsFor(
      model,
      `  api_key: ${SECRETS.modelKey}\n  default_headers: { x-extra-key: ${planted.header} }\n`,
    ).replace(model.url, url),
    files: {
      "auth.json": JSON.stringify({
        version: 1,
        credential_pool: { openrouter: [{ id: "a", auth_type: "api_key", access_token: planted.login }] },
      }),
    },
    env: { HTTPS_PROXY: `http://me:${planted.proxy}@127.0.0.1:1`, NO_PROXY: "127.0.0.1" },
  })
  const run = (...args: readonly string[]) => hermes(home, args, { stdin: "inherit-null" })
  const chat = await run("-q", "go", "--verbose")
  expect([chat.code, model.requests.length]).toEqual([1, 2])
  const reports = await Promise.all([run("status"), run("dump"), run("config", "show"), run("doctor")])
  const seen = [chat, ...reports].map(({ stdout, stderr }) => stdout + stderr).join("\n") + model.requests[1]?.rawBody
  expect(Object.values({ ...planted, key: SECRETS.modelKey }).filter((secret) => seen.includes(secret))).toEqual([])
  const allowed = new Set([...PRIVATE_FILES, "auth.json"])
  for (const secret of Object.values(planted)) {
    expect((await filesContaining(home.path, secret)).filter((path) => !allowed.has(path))).toEqual([])
  }
})

test("a token that is refreshed during a session is masked", async () => {
  await using logins = await startAuthorizationServer()
  const { accessToken, refreshToken } = logins.issue()
  const login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: new Date(Date.now() - 1000).toISOString(),
  }
  const [newAccessToken, newRefreshToken] = ["access-token-2", "refresh-token-2"]
  await using model = await startModelServer([
    callsTool("terminal", { command: `echo ${newAccessToken} ${newRefreshToken}` }),
    says(`The login is ${newAccessToken}.`),
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
    `Bearer ${newAccessToken}`,
    `Bearer ${newAccessToken}`,
  ])
  const seen = JSON.stringify(events) + model.requests.map(({ rawBody }) => rawBody).join("\n")
  expect([newAccessToken, newRefreshToken].filter((secret) => seen.includes(secret))).toEqual([])
  expect(seen).toContain("The login is ***")
})

test("a secret in a reply of the model is masked in the store, in later requests and in the output", async () => {
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
  // The calls ran with the unmasked arguments.
  expect(await readFile(join(home.workdir, "notes.md"), "utf8")).toBe(`deploy with ${SECRETS.dotenv}\n`)
  expect(JSON.parse(model.toolResults(2)[0]?.text ?? "{}").output).toBe(String(SECRETS.dotenv.length + 1))
})

test("a key in config.yaml is masked", async () => {
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

test("a secret that a command prints in two parts is masked in tool progress", async () => {
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

test("two apps with separate homes in one process do not share data", async () => {
  const script = (name: string) => [
    callsTool("memory", { action: "add", target: "memory", content: `remembers ${name}` }),
    callsTool("terminal", { command: "echo $HERMES_HOME; pwd; env | grep -c API_KEY" }),
    says(`Hello from ${name}.`),
    says("And again."),
  ]
  const create = (name: string) =>
    assembleApp(script(name), {
      files: { ".env": `EXA_API_KEY=${name}-secret-0123456789\n`, "SOUL.md": `You are ${name}.\n` },
    })
  await using first = await create("osprey")
  await using second = await create("badger")
  const apps = [
    { own: "osprey", other: "badger", assembled: first },
    { own: "badger", other: "osprey", assembled: second },
  ]
  await Promise.all(apps.map(async ({ assembled }) => await runToEnd(await assembled.open(), "hello")))
  await Promise.all(apps.map(async ({ assembled }) => await runToEnd(await assembled.open(), "hello again")))

  for (const { own, other, assembled } of apps) {
    const sent = assembled.model.requests.map(({ rawBody }) => rawBody).join("\n")
    expect([sent.includes(other), sent.includes(`You are ${own}.`)]).toEqual([false, true])
    expect(assembled.model.requests.at(-1)?.rawBody).toContain(`remembers ${own}`)
    expect(JSON.parse(assembled.model.toolResults(2)[0]?.text ?? "{}").output).toBe(
      `${assembled.home.path}\n${assembled.home.workdir}\n0`,
    )
    expect(await filesContaining(assembled.home.path, other)).toEqual([])
    expect(await (await assembled.app.store()).count()).toBe(2)
  }
})

interface SearchedOutput {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly stdout: string
  readonly stderr: string
}

/** The user's own files, and the settings cache, which is equally private. */
const PRIVATE_FILES = new Set([".env", "config.yaml", "cache/config.parsed.json"])

/** Lists where a secret appears outside the private files. */
async function findSecrets({ home, model, stdout, stderr }: SearchedOutput): Promise<readonly string[]> {
  const found: string[] = []
  for (const [name, secret] of Object.entries(SECRETS)) {
    if (stdout.includes(secret)) found.push(`${name} in the output`)
    if (stderr.includes(secret)) found.push(`${name} on stderr`)
    for (const [index, request] of model.requests.entries()) {
      if (request.rawBody.includes(secret)) found.push(`${name} in request ${index}`)
    }
    for (const path of await filesContaining(home.path, secret)) {
      if (!PRIVATE_FILES.has(path)) found.push(`${name} in ${path}`)
      else if (((await stat(join(home.path, path))).mode & 0o077) !== 0 && path !== "config.yaml" && path !== ".env")
        found.push(`${name} in ${path}, which other users can read`)
    }
  }
  return found
}

async function filesContaining(root: string, text: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const matching: string[] = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    if ((await readFile(path)).includes(text)) matching.push(path.slice(root.length + 1))
  }
  return matching.toSorted()
}
