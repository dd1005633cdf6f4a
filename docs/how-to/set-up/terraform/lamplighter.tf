# Deploys the stacks of a lab from a Terraform project: the assembly that `make synth` wrote is read, never changed.
# docs/how-to/set-up/deploy-with-terraform.md explains each part.

terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.0" }
  }
}

variable "lamplighter_assembly" {
  description = "The folder that `make synth OUT=…` wrote."
  type        = string
}

variable "lamplighter_bootstrap" {
  description = "Whether to make the bucket and the parameter that `cdk bootstrap` makes in other accounts."
  type        = bool
  default     = true
}

data "aws_caller_identity" "lamplighter" {}

locals {
  artifacts = jsondecode(file("${var.lamplighter_assembly}/manifest.json")).artifacts
  stacks    = { for name, artifact in local.artifacts : name => artifact.properties if artifact.type == "aws:cloudformation:stack" }
  cluster   = { for name, stack in local.stacks : name => stack if endswith(name, "-cluster") }
  control   = { for name, stack in local.stacks : name => stack if endswith(name, "-controller") }

  # Each stack names its template as s3://BUCKET/KEY, with the placeholder of the account in BUCKET.
  template = { for name, stack in local.stacks : name => split("/", stack.stackTemplateAssetObjectUrl) }
  bucket   = replace(values(local.template)[0][2], "$${AWS::AccountId}", data.aws_caller_identity.lamplighter.account_id)
  region   = basename(values(local.artifacts)[index(values(local.artifacts)[*].type, "aws:cloudformation:stack")].environment)
  url      = "https://s3.${local.region}.amazonaws.com/${local.bucket}"

  # Object key -> file. A folder is uploaded as the archive beside it.
  objects = merge([
    for manifest in fileset(var.lamplighter_assembly, "*.assets.json") : {
      for file in values(jsondecode(file("${var.lamplighter_assembly}/${manifest}")).files) :
      values(file.destinations)[0].objectKey => "${file.source.path}${file.source.packaging == "zip" ? ".zip" : ""}"
    }
  ]...)
}

resource "aws_s3_bucket" "lamplighter" {
  count  = var.lamplighter_bootstrap ? 1 : 0
  bucket = local.bucket
}

resource "aws_ssm_parameter" "lamplighter" {
  count = var.lamplighter_bootstrap ? 1 : 0
  name  = values(local.control)[0].bootstrapStackVersionSsmParameter
  type  = "String"
  value = values(local.control)[0].requiresBootstrapStackVersion
}

resource "aws_s3_object" "lamplighter" {
  for_each   = local.objects
  bucket     = local.bucket
  key        = each.key
  source     = "${var.lamplighter_assembly}/${each.value}"
  depends_on = [aws_s3_bucket.lamplighter]

  # An update that fails is rolled back to the code before it: its objects go only when the update is complete.
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudformation_stack" "cluster" {
  for_each     = local.cluster
  name         = each.key
  template_url = "${local.url}/${local.template[each.key][3]}"
  capabilities = ["CAPABILITY_NAMED_IAM"]
  tags         = each.value.tags
  depends_on   = [aws_s3_object.lamplighter, aws_ssm_parameter.lamplighter]

  timeouts {
    create = "90m"
    update = "3h"
    delete = "90m"
  }
}

resource "aws_cloudformation_stack" "controller" {
  for_each     = local.control
  name         = each.key
  template_url = "${local.url}/${local.template[each.key][3]}"
  capabilities = ["CAPABILITY_NAMED_IAM"]
  tags         = each.value.tags
  depends_on   = [aws_cloudformation_stack.cluster, aws_s3_object.lamplighter, aws_ssm_parameter.lamplighter]

  # A destroy first closes every pool and waits for the proof of zero, at most an hour.
  timeouts {
    create = "30m"
    update = "2h"
    delete = "90m"
  }
}

output "lamplighter" {
  description = "The outputs of the controller stack: ClusterName, LedgerTable, …"
  value       = one(values(aws_cloudformation_stack.controller)).outputs
}
