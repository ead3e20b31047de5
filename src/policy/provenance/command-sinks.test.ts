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
  // The value of an option is no host.
  ["curl -d @a.txt https://api.example", ["api.example"]],
  ["curl -so out.json https://api.example", ["api.example"]],
  ["curl --header x.txt api.example", ["api.example"]],
  ["curl -dfoo api.example", ["api.example"]],
  ["wget -qO out.html api.example", ["api.example"]],
  ["dig @1.1.1.1 api.example", ["1.1.1.1", "api.example"]],
  // Addresses that are in a file or in settings of the account.
  ["sed s,^,http://api.example/, a.txt | wget -q -O- -i -", [undefined]],
  ["wget -qi- < a.txt", [undefined]],
  ["wget --input-file=- < a.txt", [undefined]],
  ["tee >(wget -i -) < a.txt", [undefined]],
  ["cat a.txt | xargs curl -s", [undefined]],
  ["curl -s", [undefined]],
  ["curl --version", []],
  ["HOME=$PWD/ch curl -s", [undefined]],
  ["env HOME=ch curl http://api.example/", ["api.example", undefined]],
  ["export CURL_HOME=$PWD; curl localhost", [undefined]],
  ["HOME=$PWD/ch git fetch", [undefined]],
  ["git -c include.path=F fetch origin", [undefined]],
  ["git -c url.x.insteadOf=y fetch", [undefined]],
  ["git clone $(cat u.txt)", [undefined]],
  ["git clone --depth 1 $(cat u.txt) d", [undefined]],
  ["git ls-remote `cat u.txt`", [undefined]],
  ["git fetch $(cat u.txt) main", [undefined]],
  ["git pull $(cat u.txt)", [undefined]],
  ["git remote add x $(cat u.txt)", [undefined]],
  ["git pull origin $(git branch --show-current)", []],
  ["git fetch origin", []],
  ["git clone -b $B https://api.example/x", ["api.example"]],
  ["git commit -m $M", []],
  ["npm install $(cat u.txt)", [undefined]],
  ["pip download $(cat u.txt)", [undefined]],
  ["npm install x@$VERSION", []],
  ["npm run build -- $X", []],
])("%s reaches %j", (line, hosts) => {
  expect(new Set(networkHosts(line))).toEqual(new Set(hosts))
})
