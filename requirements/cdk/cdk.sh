#!/bin/sh
# The CDK command line of this checkout; make writes the folder of the checkout for @ROOT@.
# It deploys to AWS only: against the embedded cloud its bootstrap waits for minutes, and then fails.
case "${AWS_ENDPOINT_URL:-}" in
http://127.0.0.1:* | http://localhost:*)
	for word; do
		case "$word" in
		bootstrap | deploy | destroy | import | rollback | watch)
			echo "cdk $word is for AWS, but AWS_ENDPOINT_URL is $AWS_ENDPOINT_URL, the embedded cloud, which" \
				"\`lamplighter local up\` deploys to; for AWS run: unset AWS_ENDPOINT_URL" >&2
			exit 2
			;;
		esac
	done
	;;
esac
exec "@ROOT@/.venv/bin/node" "@ROOT@/.build/cdk/node_modules/aws-cdk/bin/cdk" "$@"
