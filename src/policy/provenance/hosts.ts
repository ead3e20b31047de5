/** Finds hosts in arguments, and knows which ones belong to a name that the user wrote. */

const URL_IN_TEXT = /[a-z][a-z0-9+.-]{1,20}:\/\/(?:[^\s/@"'`\\]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#"'`\\)>\]},;|&]+)/giu
const DEVICE = /\/dev\/(?:tcp|udp)\/([^/\s]+)\//giu
const SCP = /^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)*):(?!\/\/|\\)/u
const PLAIN =
  /^(?:[\w.+-]+@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]{2,}|\d+(?:\.\d+){3}|0x[0-9a-f]+|\d{8,10})(?::\d+)?(?:[/?#]|$)/iu

/** The hosts of URLs anywhere in a text. */
export function hostsIn(text: string): readonly string[] {
  return [...text.matchAll(URL_IN_TEXT), ...text.matchAll(DEVICE)].flatMap(([url, host]) =>
    host === undefined || /^(?:file|data|node|urn):/iu.test(url) ? [] : [normalHost(host)],
  )
}

/** The host of a word that names one without a scheme: `user@host:path`, `host:port`, `host/path`. */
export function plainHost(word: string): string | undefined {
  const host = SCP.exec(word)?.[1] ?? PLAIN.exec(word)?.[1]
  return host === undefined ? undefined : normalHost(host)
}

export function normalHost(host: string): string {
  return host.normalize("NFKC").toLowerCase().replace(/\.$/u, "")
}

/** The host itself, and the domains above it that have at least two labels. */
export function domainsOf(host: string): readonly string[] {
  if (/^[\d.]+$|:/u.test(host)) return [host]
  const labels = host.split(".")
  const domains = labels.map((_, index) => labels.slice(index)).filter((rest) => rest.length >= 2)
  return domains.length === 0
    ? [host]
    : domains.map((rest) => rest.join(".")).filter((domain) => domain === host || !SHARED_DOMAINS.has(domain))
}

/** Everybody can have a host below these domains. */
const SHARED_DOMAINS: ReadonlySet<string> = new Set(
  (
    "github.io gitlab.io pages.dev workers.dev vercel.app netlify.app herokuapp.com ngrok.io ngrok.app ngrok-free.app web.app firebaseapp.com " +
    "onrender.com fly.dev surge.sh glitch.me repl.co replit.app azurewebsites.net cloudfront.net amazonaws.com blogspot.com co.uk com.au co.jp " +
    "trycloudflare.com loca.lt sslip.io nip.io xip.io duckdns.org"
  ).split(" "),
)

/** Servers that package managers use without being told. */
export const REGISTRY_HOSTS: ReadonlySet<string> = new Set(
  (
    "registry.npmjs.org registry.yarnpkg.com pypi.org files.pythonhosted.org crates.io index.crates.io static.crates.io proxy.golang.org " +
    "sum.golang.org rubygems.org index.rubygems.org repo1.maven.org repo.maven.apache.org plugins.gradle.org services.gradle.org " +
    "packagist.org repo.packagist.org deb.debian.org security.debian.org archive.ubuntu.com security.ubuntu.com dl-cdn.alpinelinux.org " +
    "hex.pm repo.hex.pm nuget.org api.nuget.org jsr.io formulae.brew.sh"
  ).split(" "),
)

/** Services that people call by name. */
export const NAMED_SERVICES: Readonly<Record<string, readonly string[]>> = {
  github: ["github.com", "api.github.com", "raw.githubusercontent.com"],
  gitlab: ["gitlab.com"],
  bitbucket: ["bitbucket.org"],
  npm: ["registry.npmjs.org", "www.npmjs.com"],
  pypi: ["pypi.org"],
  wikipedia: ["en.wikipedia.org", "wikipedia.org"],
  weather: ["wttr.in"],
}
