import { expect, test } from "vitest"
import { startAuthorizationServer } from "../../../test/support/authorization-server.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { startDeviceLogin } from "./oauth-device.ts"
import { oauthEndpoints, type OAuthEndpoints } from "./oauth-endpoints.ts"
import { startBrowserLogin, type BrowserLogin } from "./oauth-pkce.ts"
import type { TokenOptions } from "./oauth-token.ts"

const NOW = Date.UTC(2026, 4, 1)
const stamp = new Date(NOW).toISOString()

function options(more: Partial<TokenOptions> = {}): TokenOptions {
  return {
    environment: environmentFrom({}),
    clock: { now: () => NOW, sleep: async () => await Promise.resolve() },
    signal: new AbortController().signal,
    timeoutMs: 5000,
    ...more,
  }
}

function endpointsOf(url: string): OAuthEndpoints {
  return {
    provider: "lab",
    clientId: "client-1",
    scope: "chat",
    tokenUrl: `${url}/token`,
    authorizeUrl: `${url}/authorize`,
    deviceUrl: `${url}/device`,
  }
}

const TOKENS = {
  kind: "tokens",
  tokens: {
    accessToken: "access-token-1",
    refreshToken: "refresh-token-1",
    fields: {
      token_type: "Bearer",
      expires_in: 3600,
      expires_at: new Date(NOW + 3_600_000).toISOString(),
      expires_at_ms: NOW + 3_600_000,
      obtained_at: stamp,
      last_refresh: stamp,
    },
  },
}

async function started(url: string): Promise<BrowserLogin> {
  const login = await startBrowserLogin(endpointsOf(url))
  if (!login.ok) throw new Error(login.error)
  return login.value
}

test("a browser login uses PKCE", async () => {
  await using server = await startAuthorizationServer()
  await using login = await started(server.url)
  const [answer, page] = await Promise.all([login.finish(options()), fetch(login.url)])
  expect(answer).toEqual(TOKENS)
  expect([page.status, await page.text()]).toEqual([200, "Hermes is logged in. You can close this page.\n"])
  expect(server.tokenRequests).toEqual([
    {
      grant_type: "authorization_code",
      code: "code-1",
      client_id: "client-1",
      redirect_uri: new URL(login.url).searchParams.get("redirect_uri"),
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
    },
  ])
  expect(Object.fromEntries(new URL(login.url).searchParams)).toMatchObject({ scope: "chat", response_type: "code" })
})

test("a redirect with another state is rejected and the wait continues", async () => {
  await using server = await startAuthorizationServer()
  await using login = await started(server.url)
  const redirect = new URL(new URL(login.url).searchParams.get("redirect_uri") ?? "")
  const finished = login.finish(options())
  expect((await fetch(`${redirect.href}?code=stolen&state=guessed`)).status).toBe(400)
  expect((await fetch(new URL("/other", redirect))).status).toBe(404)
  await fetch(login.url)
  expect(await finished).toEqual(TOKENS)
})

test("a login that is not granted is reported", async () => {
  await using server = await startAuthorizationServer({ authorizeError: "access_denied" })
  await using login = await started(server.url)
  const [answer] = await Promise.all([login.finish(options()), fetch(login.url)])
  expect(answer).toEqual({
    kind: "refused",
    code: "access_denied",
    message: "the login was not granted (access_denied)",
  })
})

test("an aborted login ends", async () => {
  await using server = await startAuthorizationServer()
  await using login = await started(server.url)
  expect(await login.finish(options({ signal: AbortSignal.abort() }))).toMatchObject({ kind: "unreachable" })
})

test("the redirect may be pasted: the address, code and state, or the code", async () => {
  await using server = await startAuthorizationServer()
  const landing = async (login: BrowserLogin) => {
    const answer = await fetch(login.url, { redirect: "manual" })
    return new URL(answer.headers.get("location") ?? "")
  }
  const forms: ((url: URL) => string)[] = [
    (url) => ` ${url.href}\n`,
    (url) => `${url.searchParams.get("code")}#${url.searchParams.get("state")}`,
    (url) => url.searchParams.get("code") ?? "",
  ]
  for (const form of forms) {
    await using login = await started(server.url)
    expect(await login.redeem(form(await landing(login)), options())).toMatchObject({ kind: "tokens" })
  }
  await using login = await started(server.url)
  const requests = server.tokenRequests.length
  expect(await login.redeem("code-9#other-state", options())).toMatchObject({ kind: "refused" })
  expect(await login.redeem("", options())).toMatchObject({ kind: "refused" })
  expect(server.tokenRequests).toHaveLength(requests)
})

test("a device login polls at the server's interval until it is granted", async () => {
  await using server = await startAuthorizationServer()
  const pauses: number[] = []
  const sleep = async (ms: number) => {
    pauses.push(ms)
    if (pauses.length === 2) server.failNext({ status: 400, body: { error: "slow_down" } })
    if (pauses.length === 3) server.grantDevice()
    return await Promise.resolve()
  }
  const polling = options({ clock: { now: () => NOW, sleep } })
  const login = await startDeviceLogin(endpointsOf(server.url), polling)
  if (!login.ok) throw new Error(login.error)
  expect([login.value.userCode, login.value.verificationUrl]).toEqual(["ABCD-EFGH", `${server.url}/activate`])
  expect(server.deviceRequests).toEqual([{ client_id: "client-1", scope: "chat" }])
  expect(await login.value.finish(polling)).toEqual(TOKENS)
  expect(pauses).toEqual([5000, 5000, 10_000])
})

test("an unused code expires", async () => {
  await using server = await startAuthorizationServer()
  let now = NOW
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms
      return await Promise.resolve()
    },
  }
  const login = await startDeviceLogin(endpointsOf(server.url), options({ clock }))
  if (!login.ok) throw new Error(login.error)
  expect(await login.value.finish(options({ clock }))).toMatchObject({ kind: "unreachable" })
  expect(server.tokenRequests).toHaveLength(120)
})

test("endpoints come from the settings or discovery; a missing one is named", async () => {
  await using server = await startAuthorizationServer()
  await using testHome = await temporaryHome({
    config: `providers:
  lab: { base_url: "http://10.0.0.1/v1", oauth: { client_id: c, issuer: "${server.url}", scope: s } }
  bare: { base_url: "http://10.0.0.1/v1", oauth: { client_id: c } }
  wrong: { base_url: "http://10.0.0.1/v1", oauth: { client_id: c, token_url: "ftp://x/token" } }
`,
  })
  const environment = environmentFrom(testHome.env)
  const config = await loadConfig({ home: homeAt(testHome.path, environment), environment })
  const found = async (provider: string) => await oauthEndpoints(provider, { config, ...options() })
  expect(await found("lab")).toEqual({
    ok: true,
    value: {
      provider: "lab",
      clientId: "c",
      scope: "s",
      tokenUrl: `${server.url}/token`,
      authorizeUrl: `${server.url}/authorize`,
      deviceUrl: `${server.url}/device`,
    },
  })
  expect(await found("bare")).toEqual({ ok: false, error: expect.stringContaining("providers.bare.oauth.token_url") })
  expect(await found("wrong")).toEqual({ ok: false, error: expect.stringContaining("ftp://x/token") })
  expect(await found("anthropic")).toEqual({
    ok: false,
    error: expect.stringContaining("hermes config set providers.anthropic.oauth.client_id"),
  })
})
