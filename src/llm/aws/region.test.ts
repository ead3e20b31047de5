import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { resolveAwsRegion } from "./region.ts"

const VARIABLES = { AWS_REGION: "us-east-2", AWS_DEFAULT_REGION: "us-west-1", AWS_PROFILE: "work" }

test.each([
  ["bedrock-runtime.eu-west-1.amazonaws.com", "ca-central-1", VARIABLES, "eu-west-1"],
  ["bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "", VARIABLES, "us-gov-west-1"],
  ["bedrock-runtime.cn-north-1.amazonaws.com.cn", "", VARIABLES, "cn-north-1"],
  ["vpce-1a.bedrock-runtime.ap-south-1.vpce.amazonaws.com", "", VARIABLES, "ap-south-1"],
  ["bedrock-runtime.eu-west-1.amazonaws.com.evil.example", "", VARIABLES, "us-east-2"],
  ["localhost", "ca-central-1", VARIABLES, "ca-central-1"],
  ["localhost", "", VARIABLES, "us-east-2"],
  ["localhost", "", { ...VARIABLES, AWS_REGION: "" }, "us-west-1"],
  ["localhost", "", { AWS_PROFILE: "work" }, "ap-southeast-2"],
  ["localhost", "", {}, "eu-north-1"],
  ["localhost", "", { AWS_PROFILE: "none" }, "us-east-1"],
])("at %s with the setting %j and %j", async (host, configured, variables, region) => {
  const userHome = await mkdtemp(join(tmpdir(), "hermes-aws-"))
  onTestFinished(() => rm(userHome, { recursive: true }))
  await mkdir(join(userHome, ".aws"))
  const config = "[default]\nregion = eu-north-1\n[profile work]\nregion = ap-southeast-2\n"
  await writeFile(join(userHome, ".aws", "config"), config)
  expect(resolveAwsRegion({ host, configured, environment: environmentFrom(variables), userHome })).toBe(region)
})
