"""API Gateway HTTP APIs: the API, its stages, integrations and routes."""

from local.aws.cloudformation.kinds import Kind, Order, Physical, tolerant

PAGE = "/_apis"


def _api(order: Order) -> Physical:
    api = order.shaped("apigatewayv2", "create_api", "CorsConfiguration")["ApiId"]
    return Physical(api, {"ApiId": api, "ApiEndpoint": f"{order.around.endpoint}{PAGE}/{api}"})


def _api_changed(order: Order, physical: Physical) -> Physical:
    order.shaped("apigatewayv2", "update_api", "CorsConfiguration", "Tags", "ProtocolType", ApiId=physical.id)
    return physical


def _api_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "apigatewayv2", "delete_api", ApiId=physical.id)


def _stage(order: Order) -> Physical:
    order.shaped("apigatewayv2", "create_stage", "AccessLogSettings")
    return Physical(order.get("StageName"))


def _stage_changed(_: Order, physical: Physical) -> Physical:
    return physical


def _stage_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "apigatewayv2", "delete_stage", ApiId=order.get("ApiId"), StageName=physical.id)


def _part(singular: str) -> Kind:
    """An integration or a route: a part of an API with its own id."""
    key = f"{singular.capitalize()}Id"

    def create(order: Order) -> Physical:
        part = order.shaped("apigatewayv2", f"create_{singular}")[key]
        return Physical(part, {key: part})

    def update(order: Order, physical: Physical) -> Physical:
        order.shaped("apigatewayv2", f"update_{singular}", **{key: physical.id})
        return physical

    def delete(order: Order, physical: Physical) -> None:
        request = {"ApiId": order.get("ApiId"), key: physical.id}
        tolerant(order, "apigatewayv2", f"delete_{singular}", **request)

    return Kind(create, update, delete, frozenset({"ApiId"}))


KINDS = {
    "AWS::ApiGatewayV2::Api": Kind(_api, _api_changed, _api_deleted, frozenset({"ProtocolType"}), "map"),
    "AWS::ApiGatewayV2::Stage": Kind(
        _stage, _stage_changed, _stage_deleted, frozenset({"ApiId", "StageName"}), "map"
    ),
    "AWS::ApiGatewayV2::Integration": _part("integration"),
    "AWS::ApiGatewayV2::Route": _part("route"),
}
