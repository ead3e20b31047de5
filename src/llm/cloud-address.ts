import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { resolveAwsRegion } from "./aws/region.ts"
import type { Provider } from "./provider.ts"

interface AddressSources {
  readonly config: Config
  readonly environment: Environment
  /** Where the AWS profiles of the user are; without it they are not read. */
  readonly home?: Pick<Home, "userHome"> | undefined
  /** The model of the request; part of the address of an Azure deployment. */
  readonly model: string
}

/** Adds the path of the API to the address of a resource, which is all that Azure's portal shows. */
export function completeCloudAddress(
  { cloud }: Provider,
  address: string,
  sources: Omit<AddressSources, "config">,
): string {
  return cloud === "azure" && /^\/*$/.test(URL.parse(address)?.pathname ?? "-") ? azurePath(address, sources) : address
}

/**
 * Returns the address of a provider whose host or path depends on the account: a region, a resource, a project. Undefined for
 * every other provider; empty while a variable is missing, which `cloudAddressHint` names.
 */
export function cloudAddress({ cloud, baseUrl }: Provider, sources: AddressSources): string | undefined {
  switch (cloud) {
    case "aws":
      return bedrockAddress(baseUrl, sources)
    case "azure":
      return azureAddress(sources)
    case "google":
      return vertexAddress(sources)
    default:
      return undefined
  }
}

/** Says how to set the missing parts of the address; undefined for a provider with a fixed address. */
export function cloudAddressHint({ cloud }: Pick<Provider, "cloud">): string | undefined {
  switch (cloud) {
    case "azure":
      return "set AZURE_OPENAI_ENDPOINT to the address of your resource, for example https://NAME.openai.azure.com"
    case "google":
      return "set GOOGLE_CLOUD_PROJECT to the id of your project"
    default:
      return undefined
  }
}

/** A Bedrock host name contains the region, so the configured region replaces the default one. */
function bedrockAddress(address: string, { config, environment, home }: AddressSources): string {
  const configured = config.get("bedrock.region").trim()
  const named = configured || firstVariable(environment, ["AWS_REGION", "AWS_DEFAULT_REGION"])
  if (named === "" && home === undefined) return address
  const region = named || resolveAwsRegion({ environment, userHome: home?.userHome ?? "", host: "", configured })
  return address.replace(/(bedrock-runtime\.)[^.]+/, `$1${region}`)
}

function azureAddress({ environment, model }: AddressSources): string {
  const resource = firstVariable(environment, ["AZURE_OPENAI_RESOURCE_NAME", "AZURE_RESOURCE_NAME"])
  const named = resource === "" ? "" : `https://${resource}.openai.azure.com`
  const endpoint = firstVariable(environment, ["AZURE_OPENAI_ENDPOINT"]) || named
  // The variable may contain the address with its path.
  return endpoint === "" || /\/openai(?:\/|$)/.test(endpoint) ? endpoint : azurePath(endpoint, { environment, model })
}

/** With a version the address names a deployment; without one it is Azure's v1 API, which gets the deployment as the model. */
function azurePath(endpoint: string, { environment, model }: Omit<AddressSources, "config">): string {
  const version = firstVariable(environment, ["AZURE_OPENAI_API_VERSION"])
  const base = `${endpoint.replace(/\/+$/, "")}/openai`
  return version === "" || version === "v1" || version === "preview"
    ? `${base}/v1`
    : `${base}/deployments/${encodeURIComponent(model)}?api-version=${encodeURIComponent(version)}`
}

/** Gemini on Vertex AI has the same requests as the Gemini API, below the path of a project and a location. */
function vertexAddress({ environment }: AddressSources): string {
  const project = firstVariable(environment, ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "VERTEXAI_PROJECT"])
  const location = firstVariable(environment, ["GOOGLE_CLOUD_LOCATION", "VERTEXAI_LOCATION"]) || "global"
  if (project === "" || !/^[\w.:-]+$/.test(project) || !/^[\w-]+$/.test(location)) return ""
  const host = location === "global" ? "aiplatform.googleapis.com" : `${location}-aiplatform.googleapis.com`
  return `https://${host}/v1/projects/${project}/locations/${location}/publishers/google`
}

function firstVariable(environment: Environment, names: readonly string[]): string {
  return names.map((name) => environment.get(name)?.trim() ?? "").find((value) => value !== "") ?? ""
}
