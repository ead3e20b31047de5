import { isLoopback } from "../commands/network-target.ts"
import { hostsIn, normalHost } from "./hosts.ts"

/** The hosts that a text for people or agents names, with and without a scheme. */
export function hostsNamed(text: string): readonly string[] {
  const plain = Array.from(text.matchAll(PLAIN_HOST), ([, host = "", after = ""]) => ({ host, after }))
    // `config.yaml` is a file, `evil.sh/x` and `evil.sh:80` are not.
    .filter(({ host, after }) => after !== "" || !FILE_ENDING.test(host))
    .map(({ host }) => normalHost(host))
  return [...new Set([...hostsIn(text), ...plain])].filter((host) => !isLoopback(host))
}

const PLAIN_HOST =
  /(?<![\p{L}\p{N}_./@-])(?:[\w.+-]+@)?((?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}]{2,24}|\d{1,3}(?:\.\d{1,3}){3})(?=(:\d|\/)|[^\p{L}\p{N}_-]|$)/giu

const FILE_ENDING =
  /\.(?:json5?|jsonc|ya?ml|toml|ini|cfg|conf|config|env|lock|log|md|mdx|txt|rst|csv|tsv|xml|html?|css|s[ac]ss|less|[cm]?[jt]sx?|vue|svelte|pyi?|ipynb|rb|rs|go|java|kts?|scala|swift|cc?|cpp|h|hpp|cs|php|pl|lua|sh|bash|zsh|fish|ps1|bat|sql|db|sqlite|proto|gradle|properties|patch|diff|zip|tar|t?gz|whl|png|jpe?g|svg|gif|pdf|exe|so|dll|bin|out|tmp|bak|test|spec|local|example\.\w+|min|prototype|length|exports|default|join|get|set|push|run|name|value|type)$/iu

/** The packages in instructions such as "run npm install x". */
export function packagesNamed(text: string): readonly string[] {
  return Array.from(text.matchAll(INSTALL), ([, names = ""]) => names.split(/\s+/u))
    .flat()
    .filter(
      (name) => /^@?[a-z\d]/iu.test(name) && !/^(?:and|then|to|in|with|the|it|again|first|instead|from)$/iu.test(name),
    )
    .map((name) => name.replace(/(?<=.)@[^/]*$|[=<>~!^[;,.`'")].*$/u, ""))
}

const INSTALL =
  /\b(?:(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|exec|dlx|create)|npx|bunx|pnpx|uvx|pipx(?:\s+(?:run|install))?|(?:uv\s+)?pip3?\s+install|(?:poetry|uv|cargo|gem|brew|go|composer)\s+(?:add|install|get|require)|apt(?:-get)?\s+install)\s+(?:-\S+\s+)*((?:@?[\w./@=<>~^-]+[ \t]*){1,3})/giu
