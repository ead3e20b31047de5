import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { startAuthorizationServer } from "../../../test/support/authorization-server.ts"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import type { HomeContext } from "../home-context.ts"
import { addApiKey, openForNewCredential } from "./add-credential.ts"
import { credentialStatus } from "./credential-status.ts"
import { listCredentials } from "./list-credentials.ts"
import { logIn, type LoginPorts } from "./log-in.ts"
import { logOut } from "./log-out.ts"
import { removeCredential } from "./remove-credential.ts"
import { setStrategy } from "./set-strategy.ts"

const { signal } = new AbortController()
const provider = "openrouter"

async function addKeys(context: HomeContext, labels: readonly string[]): Promise<void> {
  const target = await openForNewCredential(context, { provider, signal })
  if (!target.ok) throw new Error(target.error.message)
  for (const label of labels) await addApiKey(target.value, { key: `sk-0123456789-${label}`, label })
}

const labels = async (context: HomeContext): Promise<readonly string[]> => {
  const lists = await listCredentials(context, { provider: undefined, signal })
  return lists.ok ? lists.value.flatMap(({ credentials }) => credentials.map(({ label }) => label)) : []
}

test("a credential is removed by number, id or label", async () => {
  using context = createTestHomeContext()
  await addKeys(context, ["first", "second", "third"])
  const status = await credentialStatus(context, { provider, signal })
  const id = status.ok ? status.value.credentials[2]?.id : undefined
  expect(status).toMatchObject({ value: { provider, loggedIn: false, strategy: "fill_first", available: 3, total: 3 } })
  for (const credential of ["2", id ?? "", "first"]) {
    expect(await removeCredential(context, { provider, credential, signal })).toMatchObject({
      ok: true,
      value: { provider, remainsIn: undefined },
    })
  }
  expect(await labels(context)).toEqual([])
})

test("a key of a variable is no longer used, and the result names the variable that still contains it", async () => {
  using context = createTestHomeContext({}, { OPENROUTER_API_KEY: "sk-0123456789" })
  const target = { provider, credential: "OPENROUTER_API_KEY", signal }
  expect(await labels(context)).toEqual(["OPENROUTER_API_KEY"])
  expect(await removeCredential(context, target)).toEqual({
    ok: true,
    value: { provider, label: "OPENROUTER_API_KEY", remainsIn: "OPENROUTER_API_KEY" },
  })
  expect(await labels(context)).toEqual([])
})

test("a wrong request is invalid; an unknown credential is a failure", async () => {
  using context = createTestHomeContext()
  expect([
    await credentialStatus(context, { provider: "opnrouter", signal }),
    await setStrategy(context, { provider, strategy: "best", signal }),
    await removeCredential(context, { provider, credential: "7", signal }),
  ]).toMatchObject([
    { ok: false, error: { kind: "invalid", message: expect.stringContaining("Did you mean openrouter?") as string } },
    { ok: false, error: { kind: "invalid" } },
    { ok: false, error: { kind: "failed" } },
  ])
})

test("no credential is added where a package manager owns the configuration", async () => {
  using context = createTestHomeContext({}, { HERMES_MANAGED: "nix" })
  expect(await openForNewCredential(context, { provider, signal })).toMatchObject({
    ok: false,
    error: { kind: "failed", message: expect.stringContaining("nix") as string },
  })
})

test("a provider that uses the cloud account of the machine accepts no key", async () => {
  using context = createTestHomeContext()
  for (const name of ["bedrock", "vertex"]) {
    expect(await openForNewCredential(context, { provider: name, signal })).toMatchObject({
      ok: false,
      error: { kind: "invalid", message: expect.stringContaining("credentials of your cloud account") as string },
    })
  }
})

test("a key for a custom server is accepted with a hint while no address is set", async () => {
  const hintWith = async (config: string) => {
    using context = createTestHomeContext({ "config.yaml": config })
    const target = await openForNewCredential(context, { provider: "custom", signal })
    return target.ok ? target.value.addressHint : target.error.message
  }
  expect(await hintWith("{}\n")).toContain("hermes config set model.base_url")
  expect(await hintWith("model: { base_url: 'http://10.0.0.1/v1' }\n")).toBeUndefined()
})

test("a provider that accepts no key needs a login", async () => {
  using context = createTestHomeContext()
  const kinds = await Promise.all(
    ["openrouter", "minimax-oauth"].map(async (name) => {
      const target = await openForNewCredential(context, { provider: name, signal })
      return target.ok ? target.value.usualKind : undefined
    }),
  )
  expect(kinds).toEqual(["api-key", "oauth"])
})

test("a login by device code shows the code through its port and is stored", async () => {
  await using server = await startAuthorizationServer({ interval: 0.001 })
  server.grantDevice()
  const oauth = `client_id: c, token_url: "${server.url}/token", device_url: "${server.url}/device"`
  using context = createTestHomeContext({
    "config.yaml": `providers: { lab: { base_url: "http://10.0.0.1/v1", oauth: { ${oauth} } } }\n`,
  })
  const codes: string[] = []
  const ports: LoginPorts = {
    showDeviceCode: ({ userCode }) => void codes.push(userCode),
    showLoginPage: () => Promise.reject(new Error("this provider has no login page")),
  }
  const target = await openForNewCredential(context, { provider: "lab", signal })
  if (!target.ok) throw new Error(target.error.message)
  const options = { label: "me", requestTimeoutMs: 5000, insecure: false, ports, signal }
  expect(await logIn(target.value, options)).toEqual({ ok: true, value: "me" })
  expect(codes).toEqual(["ABCD-EFGH"])
  expect(readFileSync(context.home.file("auth.json"), "utf8")).toContain("access-token-1")
  expect(await logOut(context, { provider: "lab", signal })).toEqual({
    ok: true,
    value: { provider: "custom:lab", count: 1 },
  })
})
