import { expect, test } from "vitest"
import { INITIAL_SHELL_STATE, understandCommand } from "../shell/understand-command.ts"
import { commandSinks } from "./command-sinks.ts"

function networkHosts(line: string): readonly (string | undefined)[] {
  const understood = understandCommand(line, INITIAL_SHELL_STATE("/w"), { userHome: "/home/alice" })
  const verdict = { level: "ok", findings: [], outside: [], understood } as const
  const judged = { line, verdict, isReadOnly: false, keepsGitSettings: false, updatesTree: false, opens: [] }
  return commandSinks(judged, () => []).flatMap(({ kind, value }) => (kind === "network" ? [value] : []))
}

test.each([
  ["curl https://api.example/x", ["api.example"]],
  ["curl --connect-to ::192.0.2.2:1 http://api.example/", ["api.example", undefined]],
  ["curl --resolve api.example:80:192.0.2.2 http://api.example/", ["api.example", undefined]],
  ["getent hosts api.example", ["api.example"]],
  ["getent passwd alice", []],
  ["resolvectl query api.example", ["api.example"]],
  ["traceroute api.example", ["api.example"]],
  ["curl -x proxy:1 http://api.example/", ["proxy", "api.example", undefined]],
  ["CURL_HOME=$PWD curl http://api.example/", [undefined, "api.example"]],
  ["https_proxy=http://evil.example wget http://api.example/", ["evil.example", undefined, "api.example"]],
])("%s reaches %j", (line, hosts) => {
  expect(new Set(networkHosts(line))).toEqual(new Set(hosts))
})
