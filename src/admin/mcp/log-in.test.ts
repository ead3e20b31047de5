import { readFileSync, statSync } from "node:fs"

import { expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { mcpConfig } from "../../../test/support/mcp/fixture-servers.ts"
import { startOAuthServer } from "../../../test/support/mcp/oauth-server.ts"
import type { OAuthServer } from "../../../test/support/mcp/oauth-server.ts"
import type { Result } from "../../base/result.ts"
import type { AdminFailure } from "../failure.ts"
import { loadHome } from "../loaded-home.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { logInToMcpServer } from "./log-in.ts"
import { testServer } from "./test-server.ts"

const signal = new AbortController().signal

interface Fixture extends AsyncDisposable {
  readonly server: OAuthServer
  readonly loaded: LoadedHome
  logIn(browser?: (redirect: URL) => Promise<void>): Promise<Result<undefined, AdminFailure>>
  /** The names of the tools, or why there are none. */
  tools(): Promise<string>
  tokens(): Record<string, unknown>
}

async function openFixture(options: { readonly expiresIn?: number } = {}): Promise<Fixture> {
  const server = await startOAuthServer(options)
  const context = createTestHomeContext({ "config.yaml": mcpConfig({ web: { url: server.url } }) })
  const loaded = await loadHome(context)
  const file = context.home.file("mcp-tokens", "web.json")
  return {
    server,
    loaded,
    logIn: async (browser = visit) =>
      await logInToMcpServer(loaded, "web", {
        signal,
        showPage: async (page) => {
          const { headers } = await fetch(page, { redirect: "manual" })
          await browser(new URL(headers.get("location") ?? ""))
        },
      }),
    tools: async () => {
      const tested = await testServer(loaded, "web", { cwd: context.directory, version: "0.0.0-test", signal })
      return tested.ok ? (tested.value.tools ?? []).map(({ name }) => name).join(" ") : tested.error.message
    },
    tokens: () => JSON.parse(readFileSync(file, "utf8")),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      context[Symbol.dispose]()
    },
  }
}

async function visit(redirect: URL): Promise<void> {
  await fetch(redirect)
}

test("a login registers a client, proves itself with PKCE, and is used by the next connection", async () => {
  await using fixture = await openFixture()
  const { server, loaded } = fixture
  expect(await fixture.tools()).toBe("The MCP server web wants a login; log in with `hermes mcp login web`")
  expect(await fixture.logIn()).toEqual({ ok: true, value: undefined })
  expect(server.log).toEqual(["register", "authorize", "code"])
  expect(fixture.tokens()).toMatchObject({ access_token: "access-1", refresh_token: "refresh-1" })
  for (const name of ["web.json", "web.client.json"])
    expect(statSync(loaded.home.file("mcp-tokens", name)).mode & 0o777).toBe(0o600)
  expect(readFileSync(loaded.home.file("config.yaml"), "utf8")).toContain("oauth")
  expect(await fixture.tools()).toBe("secret")
})

test("a login that is about to expire is refreshed before it is used, with the new refresh token stored", async () => {
  await using fixture = await openFixture({ expiresIn: 10 })
  await fixture.logIn()
  expect(await fixture.tools()).toBe("secret")
  expect(fixture.server.log).toEqual(["register", "authorize", "code", "refresh", "call"])
  expect(fixture.tokens()).toMatchObject({ access_token: "access-2", refresh_token: "refresh-2" })
})

test("a token that the server does not accept any more is refreshed once", async () => {
  await using fixture = await openFixture()
  await fixture.logIn()
  fixture.server.revoke()
  expect(await fixture.tools()).toBe("secret")
  expect(fixture.server.log.filter((step) => step === "refresh")).toHaveLength(1)
})

test("a login that cannot be refreshed is reported, and the user can log in again", async () => {
  await using fixture = await openFixture()
  await fixture.logIn()
  fixture.server.revoke({ refresh: false })
  expect(await fixture.tools()).toBe("The MCP server web wants a login; log in with `hermes mcp login web`")
  expect(await fixture.logIn()).toEqual({ ok: true, value: undefined })
  expect(await fixture.tools()).toBe("secret")
})

test("a redirect with another state is refused, and the right one still counts", async () => {
  await using fixture = await openFixture()
  const statuses: number[] = []
  const outcome = await fixture.logIn(async (redirect) => {
    const forged = new URL(redirect)
    forged.searchParams.set("state", "of somebody else")
    forged.searchParams.set("code", "injected")
    statuses.push((await fetch(forged)).status)
    statuses.push((await fetch(redirect)).status)
  })
  expect(outcome).toEqual({ ok: true, value: undefined })
  expect(statuses).toEqual([400, 200])
  expect(fixture.server.log).toEqual(["register", "authorize", "code"])
})

test("a pasted address with another state, and a login that the user denies, are failures that store nothing", async () => {
  await using fixture = await openFixture()
  const pasted = await logInToMcpServer(fixture.loaded, "web", {
    signal,
    showPage: () => Promise.resolve(),
    askForRedirect: () => Promise.resolve("http://127.0.0.1/callback?code=injected&state=other"),
  })
  expect(pasted).toMatchObject({ ok: false, error: { message: expect.stringContaining("The login at web failed") } })
  fixture.server.deny("access_denied")
  expect(await fixture.logIn()).toEqual({
    ok: false,
    error: { kind: "failed", message: "The login at web failed: the login was not granted (access_denied)" },
  })
  expect(fixture.server.log).not.toContain("code")
  expect(() => fixture.tokens()).toThrow("ENOENT")
})
